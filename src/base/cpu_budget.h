/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/cpu_budget.h - a bound of the CPU time that work on a foreign file takes. A signal that asks
 * for the end leaves all such work of the thread half a second. A busy machine makes no difference.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct cpu_budget {
	uint64_t left_ns;   /* to be set */
	uint64_t since_ns;  /* CPU time of the thread when left_ns was counted */
	uint64_t looked_ns; /* when the clock of CPU time was read last */
	bool has_signal;    /* left nothing */
};

/* Work begins or goes on, in this thread; it ends, or pauses. */
void cpu_budget_resume(struct cpu_budget *b);
void cpu_budget_pause(struct cpu_budget *b);

/* To be asked as often as is convenient: it takes 10 ns. Once it is true it stays so. */
bool cpu_budget_is_spent(struct cpu_budget *b);

/* Why, for messages: "it takes too long", "a signal came". */
const char *cpu_budget_reason(const struct cpu_budget *b);
