/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables/tgid_set.h - a bit for each process that there may be, by its number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

/* PID_MAX_LIMIT of the kernel (include/linux/threads.h). */
#define MOST_TGIDS (4U << 20)

struct tgid_set {
	uint64_t *bits;
};

static inline void tgid_set_init(struct tgid_set *set)
{
	set->bits = xcalloc(MOST_TGIDS / 64, sizeof(*set->bits));
}

static inline void tgid_set_fini(struct tgid_set *set)
{
	free(set->bits);
}

/* Numbers that no process can have are in it. */
static inline bool tgid_set_has(const struct tgid_set *set, uint32_t tgid)
{
	return tgid >= MOST_TGIDS || set->bits[tgid / 64] >> tgid % 64 & 1;
}

static inline void tgid_set_put(struct tgid_set *set, uint32_t tgid, bool is_in)
{
	const uint64_t bit = 1ULL << tgid % 64;

	if (tgid >= MOST_TGIDS)
		return;
	if (is_in)
		set->bits[tgid / 64] |= bit;
	else
		set->bits[tgid / 64] &= ~bit;
}
