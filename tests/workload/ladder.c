// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ladder DEPTH D T - getppid() below DEPTH frames, through D distinct stacks (at most 2^18), T
 * times each. Level 0 is the innermost. On the 18 lowest levels the bits of a stack's number choose
 * between zero() and one(). On the others random-looking bits of the level's number do.
 * With LADDER_SLEEPS in the environment each hit sleeps for a moment, too.
 * So a reader can tell which stack it is, and each part of it that is missing, twice there or in
 * another's place.
 */
#include <time.h>

#include "work.h"

enum { LEVELS = 18, DEEPEST = 10000 };

static uint64_t depth, n_stacks, n_times;
static int sleeps; /* with LADDER_SLEEPS in the environment: hit() leaves the CPU, too */

FRAME static void hit(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	GETPPID();
	if (sleeps)
		raw_syscall3(SYS_nanosleep, (long)&moment, 0, 0);
	STAY();
}

static uint64_t bit_of(uint64_t number, uint64_t level)
{
	uint64_t x = level * 0x9e3779b97f4a7c15;

	if (level < LEVELS)
		return number >> level & 1;
	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93 >> 63;
}

static void descend(uint64_t number, uint64_t levels);

FRAME static void zero(uint64_t number, uint64_t levels) // NOLINT(misc-no-recursion)
{
	descend(number, levels);
	STAY();
}

FRAME static void one(uint64_t number, uint64_t levels) // NOLINT(misc-no-recursion)
{
	descend(number, levels);
	STAY();
}

// NOLINTNEXTLINE(misc-no-recursion)
__attribute__((always_inline)) static inline void descend(uint64_t number, uint64_t levels)
{
	if (!levels)
		hit();
	else if (bit_of(number, levels - 1))
		one(number, levels - 1);
	else
		zero(number, levels - 1);
}

FRAME static void run(void)
{
	for (uint64_t t = 0; t < n_times; t++)
		for (uint64_t i = 0; i < n_stacks; i++)
			descend(i, depth);
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 3, "DEPTH D T");
	depth = work_number(argv[0]);
	n_stacks = work_number(argv[1]);
	n_times = work_number(argv[2]);
	sleeps = getenv("LADDER_SLEEPS") != NULL;
	if (depth < LEVELS || depth > DEEPEST || n_stacks > 1U << LEVELS)
		exit(2);
	work_run(run);
	work_expect("*;hit", n_stacks * n_times);
	return 0;
}
