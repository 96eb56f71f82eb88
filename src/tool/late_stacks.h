/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/late_stacks.h - the stacks of deferred hits, until their events come. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct late_stack {
	uint64_t number; /* of the deferred hit */
	uint64_t hash;   /* of its stack */
};

/* A zeroed list is empty. */
struct late_stacks {
	struct late_stack *list;
	size_t n, capacity;
};

void late_stacks_fini(struct late_stacks *l);
void late_stacks_put(struct late_stacks *l, uint64_t number, uint64_t hash);

/* Take the hash of hit @number out. False, and 0: it is not there. */
bool late_stacks_take(struct late_stacks *l, uint64_t number, uint64_t *ret_hash);
