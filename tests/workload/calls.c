// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * calls A B C - leaf() by two paths, and leaf_bare(), a function without a frame,
 * by a third.
 */
#include "work.h"

static uint64_t n_a, n_b, n_bare;

FRAME void leaf(void)
{
	STAY();
}

/* No prologue: at its entry the frame pointer is still its caller's. */
FRAME void leaf_bare(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Differs from leaf by one letter more: a pattern that is not anchored takes it too. */
FRAME void leafy(void)
{
	STAY();
}

FRAME static void middle(void) CALLS(leaf());

FRAME static void branch_a(void) CALLS(leaf());

FRAME static void branch_b(void) CALLS(middle());

FRAME static void branch_bare(void) CALLS(leaf_bare());

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_a || i < n_b || i < n_bare; i++) {
		if (i < n_a)
			branch_a();
		if (i < n_b)
			branch_b();
		if (i < n_bare)
			branch_bare();
	}
	leafy();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 3, "A B C");
	n_a = work_number(argv[0]);
	n_b = work_number(argv[1]);
	n_bare = work_number(argv[2]);
	work_run(run);
	work_expect("branch_a;leaf", n_a);
	work_expect("branch_b;middle;leaf", n_b);
	work_expect("branch_bare;leaf_bare", n_bare);
	return 0;
}
