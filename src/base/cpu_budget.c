// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/cpu_budget.h"

#include <signal.h>

#define LOOK_NS (10 * 1000000ULL)
#define AFTER_SIGNAL_NS (NS_PER_S / 2)

/*
 * Signals that end the run are blocked, and stay pending until tool/wait.c reads them. @now: CPU
 * time of this thread.
 */
static bool is_signal_overdue(uint64_t now)
{
	static _Thread_local uint64_t asked_ns; /* 0: no signal is pending */
	sigset_t pending;

	if (sigpending(&pending) ||
	    (sigismember(&pending, SIGINT) != 1 && sigismember(&pending, SIGTERM) != 1 &&
	     sigismember(&pending, SIGHUP) != 1))
		asked_ns = 0;
	else if (!asked_ns)
		asked_ns = now;
	return asked_ns && now - asked_ns > AFTER_SIGNAL_NS;
}

void cpu_budget_resume(struct cpu_budget *b)
{
	b->since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void cpu_budget_pause(struct cpu_budget *b)
{
	const uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t spent = now - b->since_ns;

	b->left_ns -= spent < b->left_ns ? spent : b->left_ns;
	b->since_ns = now;
}

/* Reading the coarse clock takes no system call. Reading the CPU time does. */
bool cpu_budget_is_spent(struct cpu_budget *b)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);

	if (b->left_ns && now - b->looked_ns >= LOOK_NS) {
		b->looked_ns = now;
		cpu_budget_pause(b);
		b->has_signal = is_signal_overdue(b->since_ns);
		if (b->has_signal)
			b->left_ns = 0;
	}
	return b->left_ns == 0;
}

const char *cpu_budget_reason(const struct cpu_budget *b)
{
	return b->has_signal ? "interrupted by a signal" : "it takes too long";
}
