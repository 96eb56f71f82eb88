// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mangled N - getppid() N times below functions that are named as compilers of Rust
 * (both its schemes) and D name them.
 */
#include "work.h"

static uint64_t n;

FRAME void rust(void) __asm__("_RNvNtCs1234_7mycrate3net4send");
FRAME void old_rust(void) __asm__("_ZN7mycrate3net4poll17h0123456789abcdefE");
FRAME void d(void) __asm__("_D8demangle4testFaZv");

FRAME static void hit(void)
{
	GETPPID();
	STAY();
}

void d(void)
{
	hit();
	STAY();
}

void old_rust(void)
{
	d();
	STAY();
}

void rust(void)
{
	old_rust();
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++)
		rust();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("mycrate::net::send;mycrate::net::poll;demangle.test(char);hit", n);
	return 0;
}
