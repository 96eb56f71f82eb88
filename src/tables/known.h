/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables/known.h - the address space that user space has published for each process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bpf/tables.h"

struct known {
	uint32_t tgid;
	uint64_t looked;           /* time of the last reading, ns of CLOCK_MONOTONIC */
	struct unwind_space space; /* n 0: no list of its own. The entry may be forgotten then */
};

/* A zeroed list is empty. */
struct known_list {
	struct known *list;
	size_t n, capacity;
	size_t n_to_compact;    /* at this many entries, the list drops those without a space */
	struct u64_map numbers; /* of tgids in @list */
};

void known_fini(struct known_list *k);

/* The entry of process @tgid, a new one if necessary. @k lends it until the next call. */
struct known *known_of(struct known_list *k, uint32_t tgid);

/* The same; NULL: there is none. */
const struct known *known_find(const struct known_list *k, uint32_t tgid);

/* The process with the most mappings, without @asker. NULL: no other process has any. */
struct known *known_longest(const struct known_list *k, const struct known *asker);
