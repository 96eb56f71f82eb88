/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/lists.h - the lists of mappings that the programs have: one for each process that user
 * space has looked at.
 *
 * All lists together take at most half of the memory for unwind tables, so that tables have room.
 * Where they would take more, the longest list goes. The programs then ask the kernel what that
 * process has mapped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "bpf/object.h"
#include "tables/known.h"
#include "tables/memory.h"
#include "tables/table_set.h"

struct lists {
	struct object *object;        /* lent */
	struct unwind_memory *memory; /* lent */
	struct table_set *tables;     /* lent; they make room */
	struct known_list known;
	uint64_t n, most; /* mappings in all lists, and how many there may be */
	uint32_t last_number;
	struct log_few told;
};

void lists_init(struct lists *l, struct object *object, struct unwind_memory *memory,
		struct table_set *tables);
void lists_fini(struct lists *l);

/*
 * The programs take the @n mappings at @list for what process @tgid has mapped, unless more was
 * mapped than the @n_reserved times that had been counted before it was looked at. Lists of other
 * processes may go. Errors: -E2BIG there is no room, and the user was told; others from the kernel.
 */
must_check int lists_tell(struct lists *l, uint32_t tgid, const struct unwind_mapping *list,
			  size_t n, uint64_t n_reserved, struct error *e);

/* What the process has mapped is not known any more: the programs ask the kernel. */
void lists_retract(struct lists *l, uint32_t tgid);
