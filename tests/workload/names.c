// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * names A B C - step() of this file A times, step() of names_other.c B times, and one(), which
 * is uno() and __one() too, C times.
 */
#include "names_other.h"
#include "work.h"

static uint64_t n_first, n_second, n_one;

FRAME static void step(void)
{
	STAY();
}

FRAME void one(void)
{
	STAY();
}

void uno(void) __attribute__((alias("one")));
void __one(void) __attribute__((alias("one")));

FRAME static void first(void)
{
	step();
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_first; i++)
		first();
	for (uint64_t i = 0; i < n_second; i++)
		second();
	for (uint64_t i = 0; i < n_one; i++)
		one();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 3, "A B C");
	n_first = work_number(argv[0]);
	n_second = work_number(argv[1]);
	n_one = work_number(argv[2]);
	work_run(run);
	work_expect("first;step", n_first);
	work_expect("second;step", n_second);
	work_expect("one", n_one);
	return 0;
}
