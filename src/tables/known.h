/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables/known.h - the address space that the programs were given of each process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bpf/tables.h"

struct known {
	uint32_t tgid;
	uint64_t looked;           /* when it was read, ns of CLOCK_MONOTONIC */
	struct unwind_space space; /* n 0: none, or its parent's. Then it may be forgotten */
};

/* Zeroed: no process is known. */
struct known_list {
	struct known *list;
	size_t n, capacity;
	size_t n_to_compact;    /* entries, until the list drops processes that have gone */
	struct u64_map numbers; /* of tgids in @list */
};

void known_fini(struct known_list *k);

/* The entry of process @tgid, made where there is none. Lent until the next call. */
struct known *known_of(struct known_list *k, uint32_t tgid);

/* The same, NULL where there is none. */
const struct known *known_find(const struct known_list *k, uint32_t tgid);

/* The process with most mappings, but for @asker. NULL: no other has any. */
struct known *known_longest(const struct known_list *k, const struct known *asker);
