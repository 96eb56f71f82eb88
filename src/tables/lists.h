/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/lists.h - the published lists of mappings: one for each process whose mappings user space
 * has read.
 *
 * A list must not be older than the walk that uses it, or a library that has replaced another at
 * its address is walked by the other's table. So BPF programs withdraw a list when a mapping takes
 * a place in it, and at exec and exit. Until lists_confirm() they do so, but do not walk by it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "bpf/object.h"
#include "bpf/tables.h"
#include "tables/memory.h"

struct listed;

struct lists {
	struct object *object;        /* borrowed */
	struct unwind_memory *memory; /* borrowed */
	struct listed *listed;        /* processes */
	size_t n_listed, capacity;
	size_t n_to_compact;    /* at this many, those without a list are dropped */
	struct u64_map numbers; /* of tgids in @listed */
	uint64_t n, most;       /* mappings in all lists, and their bound */
	uint32_t last_number;
};

/* All lists together take at most half of @memory, so that tables have room. */
void lists_init(struct lists *l, struct object *object, struct unwind_memory *memory);
void lists_fini(struct lists *l);

/*
 * Readings of one process take at most 1 / READING_SHARE of wall time, in the long run. It may owe
 * READING_CREDIT_NS, because a program that starts maps its libraries in a burst.
 */
#define READING_SHARE 25ULL
#define READING_CREDIT_NS 10000000000ULL

/* May the mappings of process @tgid be read at @now, ns of CLOCK_MONOTONIC? */
bool lists_may_read(const struct lists *l, uint32_t tgid, uint64_t now);

/* They were read at @began. All that came of it took @cost ns of CPU time. */
void lists_pay(struct lists *l, uint32_t tgid, uint64_t began, uint64_t cost);

/*
 * Publish the @n mappings at @list for process @tgid. After an error, it still has its former list.
 * Errors: -E2BIG there is no room for the list, or for another process; others of the kernel.
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

/* The process has gone: withdraw its list, and forgive what it owes. */
void lists_forget(struct lists *l, uint32_t tgid);

/* The process's program has ended at @time. Forget it, unless it was read later. */
void lists_end(struct lists *l, uint32_t tgid, uint64_t time);

/* Withdraw all lists, also those that children have from their parents. */
void lists_drop(struct lists *l);
