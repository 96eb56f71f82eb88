// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* deep DEPTH N - getppid() below DEPTH frames of recurse(), N times. */
#include "work.h"

static uint64_t depth, n;

FRAME static void hit(void)
{
	GETPPID();
	STAY();
}

/* The argument keeps a compiler from making a loop of it. */
FRAME static int recurse(uint64_t left) // NOLINT(misc-no-recursion)
{
	int ret = 1;

	if (left > 1)
		ret += recurse(left - 1);
	else
		hit();
	STAY();
	return ret;
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++)
		recurse(depth);
	STAY();
}

int main(int argc, char **argv)
{
	char *chain;

	argv = work_begin(argc, argv, 2, "DEPTH N");
	depth = work_number(argv[0]);
	n = work_number(argv[1]);
	if (depth == 0 || depth > 10000)
		exit(2);
	work_run(run);
	chain = calloc(depth + 1, sizeof("recurse;"));
	for (uint64_t i = 0; chain && i < depth; i++)
		memcpy(chain + i * 8, "recurse;", 8);
	if (chain)
		memcpy(chain + depth * 8, "hit", sizeof("hit"));
	work_expect(chain ? chain : "?", n);
	free(chain);
	return 0;
}
