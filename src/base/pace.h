/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/pace.h - limit how often we read the mappings of a process, by the cost of reading.
 *
 * A reading costs PACE_SHARE times its CPU time, in wall time. A process may owe PACE_CREDIT_NS,
 * because a program that starts maps its libraries in a burst. Above that, readings have to wait.
 * Pure: the caller reads the clock. All times are ns of one clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the long run, reading one process takes at most 1 / PACE_SHARE of wall time. */
#define PACE_SHARE 25ULL
#define PACE_CREDIT_NS 10000000000ULL

struct pace_debt {
	uint32_t tgid;
	bool is_waiting; /* pace_may_read() has put a reading off */
	uint64_t paid;   /* the time when all readings so far are paid for */
};

/* All debts. A zeroed struct has none. */
struct pace {
	struct pace_debt *debts;
	size_t n, capacity;
};

void pace_fini(struct pace *p);

/* May we read process @tgid now? If not, pace_take_due() returns it when we may. */
bool pace_may_read(struct pace *p, uint32_t tgid, uint64_t now);

/* Note that a reading of process @tgid ended at @now and took @cost ns of CPU time. */
void pace_pay(struct pace *p, uint32_t tgid, uint64_t now, uint64_t cost);

/* Drop the debt of process @tgid, which has ended or runs another program. */
void pace_forget(struct pace *p, uint32_t tgid);

/* The time when the next put-off reading is due; UINT64_MAX if there is none. */
uint64_t pace_next_due(const struct pace *p);

/* Return a process whose put-off reading is due at @now, each once, or 0. */
uint32_t pace_take_due(struct pace *p, uint64_t now);
