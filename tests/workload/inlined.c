// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * inlined N - a system call in functions that are inlined into each other, with the lines of
 * the calls in its DWARF. Marks say which these are.
 */
#include "work.h"

#define INLINED static inline __attribute__((always_inline))

static uint64_t n;

INLINED void inner(void)
{
	GETPPID(); /* in inner */
	STAY();
}

INLINED void outer(void)
{
	inner(); /* in outer */
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++)
		outer(); /* in run */
	STAY();
}

int main(int argc, char **argv)
{
	n = work_number(work_begin(argc, argv, 1, "N")[0]);
	work_run(run);
	work_expect("", n);
	return 0;
}
