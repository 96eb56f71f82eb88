// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odd N - getppid() N times below functions that the build renames to what a
 * file may call them: with ';', a space, a control character, invalid UTF-8.
 */
#include "work.h"

static uint64_t n;

FRAME void hit(void)
{
	GETPPID();
	STAY();
}

FRAME void odd_bytes(void)
{
	hit();
	STAY();
}

FRAME void odd_semicolon(void)
{
	odd_bytes();
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++)
		odd_semicolon();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("*;hit", n);
	return 0;
}
