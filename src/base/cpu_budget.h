/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/cpu_budget.h - bound the CPU time of work on a foreign file.
 *
 * The clock is the thread's CPU time, so a busy machine makes no difference. After a signal that
 * ends the run, all such work of a thread together has half a second left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct cpu_budget {
	uint64_t left_ns;   /* set by the caller before the work */
	uint64_t since_ns;  /* the thread's CPU time when left_ns was last updated */
	uint64_t looked_ns; /* CLOCK_MONOTONIC_COARSE when the CPU time was last read */
	bool has_signal;    /* a signal ended the budget */
};

/* Call resume when work of this thread begins or goes on, pause when it stops. */
void cpu_budget_resume(struct cpu_budget *b);
void cpu_budget_pause(struct cpu_budget *b);

/* Has the work used up its time? Takes 10 ns, so call it often. Once true, it stays true. */
bool cpu_budget_is_spent(struct cpu_budget *b);

/* The reason, for messages: "it takes too long" or "interrupted by a signal". */
const char *cpu_budget_reason(const struct cpu_budget *b);
