/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/lists.h - the published lists of mappings: one for each process whose mappings user space
 * has read.
 *
 * All lists together take at most half of the memory for unwind tables, so that tables have room.
 * Beyond that, the longest list is withdrawn. The BPF programs then ask the kernel for the mappings
 * of that process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "bpf/object.h"
#include "tables/known.h"
#include "tables/memory.h"
#include "tables/table_set.h"

struct lists {
	struct object *object;        /* borrowed */
	struct unwind_memory *memory; /* borrowed */
	struct table_set *tables;     /* borrowed; gives up tables to make room */
	struct known_list known;
	uint64_t n, most; /* mappings in all lists, and their bound */
	uint32_t last_number;
	struct log_few warnings;
};

void lists_init(struct lists *l, struct object *object, struct unwind_memory *memory,
		struct table_set *tables);
void lists_fini(struct lists *l);

/*
 * Publish the @n mappings at @list for process @tgid, not to be walked by before lists_confirm().
 * To make room, may withdraw lists of other processes and evict tables. After an error, the process
 * still has its former list.
 *
 * Errors: -E2BIG there is no room (the user has had a warning); others of the kernel.
 */
must_check int lists_publish(struct lists *l, uint32_t tgid, const struct unwind_mapping *list,
			     size_t n, struct error *e);

/*
 * Since lists_publish(), the process's mappings have been read once more, and are the same. Let the
 * BPF programs walk by its list. False: they have withdrawn it.
 */
bool lists_confirm(struct lists *l, uint32_t tgid);

/* Do the BPF programs walk by exactly this list? */
bool lists_have(struct lists *l, uint32_t tgid, const struct unwind_mapping *list, size_t n);

/* Withdraw the process's list. The BPF programs ask the kernel from here on. */
void lists_retract(struct lists *l, uint32_t tgid);
