/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* store/row.h - a row's place in the store's index. For store.c only. */
#pragma once

#include "base/hash.h"
#include "store/store.h"

static inline uint64_t row_hash(const struct store_row *row)
{
	uint64_t stacks = (uint64_t)row->kernel_stack << 32 | row->user_stack;

	return hash_mix(stacks ^ hash_mix((uint64_t)row->tgid << 32 | row->flags));
}

static inline bool is_same_row(const struct store_row *a, const struct store_row *b)
{
	return a->kernel_stack == b->kernel_stack && a->user_stack == b->user_stack &&
	       a->tgid == b->tgid && a->flags == b->flags;
}
