// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * budget CPUS BYTES - print how stackcount divides --max-memory BYTES on a machine with CPUS. The
 * figures are rows and pieces of stacks in one of the two generations, and bytes in user space.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"

int main(int argc, char **argv)
{
	struct store_budget budget = {};

	if (argc != 3)
		return 2;
	store_divide(strtoull(argv[2], NULL, 10), (uint32_t)strtoul(argv[1], NULL, 10), &budget);
	(void)printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (uint64_t)budget.max_rows,
		     (uint64_t)budget.max_chunks, (uint64_t)budget.user_bytes);
	return 0;
}
