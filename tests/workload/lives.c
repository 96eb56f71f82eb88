// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lives-one, lives-two N [PROGRAM ARGUMENT...] - getppid() N times, then run PROGRAM instead.
 *
 * One source, compiled twice without position independence: what is one_hit() in the one is
 * two_hit() at the same address in the other.
 */
#include "work.h"

#define JOIN(a, b) a##b
#define NAME(prefix, name) JOIN(prefix, name)
#define hit NAME(PREFIX, _hit)
#define run NAME(PREFIX, _run)

FRAME void hit(void) CALLS(GETPPID());

FRAME void run(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		hit();
	STAY();
}

int main(int argc, char **argv)
{
	(void)argc;
	argv = work_begin(argc, argv, 1, "N [PROGRAM ARGUMENT...]");
	run(work_number(argv[0]));
	if (argv[1]) {
		execv(argv[1], argv + 1);
		perror(argv[1]);
		return 1;
	}
	return 0;
}
