// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/unmapped.h"

#include "base/clock.h"

#define BUSY_NS (20 * NS_PER_S / 1000)
#define LEAST_PAUSE_NS (NS_PER_S / 1000)
#define MOST_PAUSE_NS (NS_PER_S / 8)

void unmapped_reset(struct unmapped *u)
{
	u->pause_ns = LEAST_PAUSE_NS;
}

void unmapped_note(struct unmapped *u)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	u->busy_until = now + BUSY_NS;
	u->ask_at = now + u->pause_ns;
	if (u->pause_ns < MOST_PAUSE_NS)
		u->pause_ns *= 2;
}

void unmapped_ask(struct unmapped *u, struct trace_state *state)
{
	if (!u->ask_at || clock_ns(CLOCK_MONOTONIC) < u->ask_at)
		return;
	u->ask_at = 0;
	__atomic_store_n(&state->is_unmapped, 0, __ATOMIC_RELAXED);
}

bool unmapped_is_busy(const struct unmapped *u)
{
	return u->busy_until > clock_ns(CLOCK_MONOTONIC);
}
