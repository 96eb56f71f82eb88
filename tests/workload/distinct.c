// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * distinct D T - getppid() through D distinct stacks (at most 2^18), T times each.
 * The bits of a stack's number choose between zero() and one() on each of 18
 * levels, the lowest bit outermost; so a reader can tell which stacks are there.
 */
#include "work.h"

enum { LEVELS = 18 };

static uint64_t n_stacks, n_times;

FRAME static void hit(void)
{
	GETPPID();
	STAY();
}

static void descend(uint64_t bits, int level);

FRAME static void zero(uint64_t bits, int level)
{
	descend(bits, level);
	STAY();
}

FRAME static void one(uint64_t bits, int level)
{
	descend(bits, level);
	STAY();
}

__attribute__((always_inline)) static inline void descend(uint64_t bits, int level)
{
	if (level == LEVELS)
		hit();
	else if (bits & 1)
		one(bits >> 1, level + 1);
	else
		zero(bits >> 1, level + 1);
}

FRAME static void run(void)
{
	for (uint64_t t = 0; t < n_times; t++)
		for (uint64_t i = 0; i < n_stacks; i++)
			descend(i, 0);
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 2, "D T");
	n_stacks = work_number(argv[0]);
	n_times = work_number(argv[1]);
	if (n_stacks > 1u << LEVELS)
		exit(2);
	work_run(run);
	work_expect("*;hit", n_stacks * n_times);
	return 0;
}
