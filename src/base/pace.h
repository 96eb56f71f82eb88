/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/pace.h - how often a process is read again: the cost of a reading decides.
 *
 * A reading costs PACE_SHARE times its CPU time, in wall time. A process may owe PACE_CREDIT_NS,
 * since a program that starts maps its libraries in a burst. Above that, readings have to wait.
 * Pure: the caller has the clock. Times are ns of one clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the long run, one process is read in at most 1 / PACE_SHARE of the time. */
#define PACE_SHARE 25ULL
#define PACE_CREDIT_NS 10000000000ULL

struct pace_debt {
	uint32_t tgid;
	bool is_waiting; /* a reading was put off */
	uint64_t paid;   /* when all readings so far are paid for */
};

/* Zeroed: nobody owes anything. */
struct pace {
	struct pace_debt *debts;
	size_t n, capacity;
};

void pace_fini(struct pace *p);

/* May process @tgid be read now? If not, pace_take_due() gives it when it may. */
bool pace_may_read(struct pace *p, uint32_t tgid, uint64_t now);

/* A reading of process @tgid ended at @now and took @cost ns of CPU time. */
void pace_pay(struct pace *p, uint32_t tgid, uint64_t now, uint64_t cost);

/* It ended, or runs another program: it owes nothing. */
void pace_forget(struct pace *p, uint32_t tgid);

/* When the next reading that was put off is due; UINT64_MAX: none was. */
uint64_t pace_next_due(const struct pace *p);

/* A process whose reading was put off and is due at @now, once; 0: none. */
uint32_t pace_take_due(struct pace *p, uint64_t now);
