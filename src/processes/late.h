/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/late.h - processes whose lists of mappings came too late, and the time of the next try.
 *
 * A list that is late once may come soon, because a helper was busy with another one. So the first
 * pause is short, and doubles each time. Waiting takes a bounded share of the time (LATE_SHARE).
 * Pure: the caller has the clock. Times are ns of one clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LATE_LEAST_PAUSE_NS 10000000ULL
#define LATE_MOST_PAUSE_NS 8000000000ULL
#define LATE_SHARE 10ULL /* lists that are late again take 1/10 of the time, at most */

struct late_one {
	uint32_t tgid;
	uint64_t pause;
	uint64_t due;
};

/* A zeroed struct is empty. */
struct late {
	struct late_one *list;
	size_t n, capacity;
	uint64_t rest_until; /* no process is due earlier */
};

void late_fini(struct late *l);

bool late_has(const struct late *l, uint32_t tgid);

/* We waited for the list of @tgid from @begin to @now in vain. */
void late_note(struct late *l, uint32_t tgid, uint64_t begin, uint64_t now);

/* The list came, or the process has ended. */
void late_forget(struct late *l, uint32_t tgid);

void late_forget_all(struct late *l);

/* The time of the next try; UINT64_MAX: no process is late. */
uint64_t late_due(const struct late *l);

/* The process to try at @now: the one that was due first. 0: none is due. */
uint32_t late_next(const struct late *l, uint64_t now);
