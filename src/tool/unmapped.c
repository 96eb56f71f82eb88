// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/unmapped.h"

#include "base/clock.h"

#define BUSY_NS (20 * NS_PER_S / 1000)
#define LEAST_PAUSE_NS (NS_PER_S / 1000)
#define MOST_PAUSE_NS (NS_PER_S / 8)
#define UNLISTED_PAUSE_NS (4 * NS_PER_S / 1000)

void unmapped_reset(struct unmapped *u)
{
	u->pause_ns = LEAST_PAUSE_NS;
}

bool unmapped_note(struct unmapped *u, const struct notice *notice)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (notice->is_walked) {
		uint32_t *last = &u->passing[notice->tgid & (PASSING_PROCESSES - 1)];
		const bool is_first = *last != notice->tgid;

		u->ask_unlisted_at = now + UNLISTED_PAUSE_NS;
		*last = notice->tgid;
		return !is_first;
	}
	u->busy_until = now + BUSY_NS;
	u->ask_at = now + u->pause_ns;
	if (u->pause_ns < MOST_PAUSE_NS)
		u->pause_ns *= 2;
	return notice->tgid != 0;
}

/* At time *@at, clear *@told, so that a BPF program sends the next notice. Then no time is set. */
static void allow_next_notice(uint64_t *at, __u64 *told)
{
	if (!*at || clock_ns(CLOCK_MONOTONIC) < *at)
		return;
	*at = 0;
	__atomic_store_n(told, 0, __ATOMIC_RELAXED);
}

void unmapped_ask(struct unmapped *u, struct trace_state *state)
{
	allow_next_notice(&u->ask_at, &state->is_unmapped[false]);
	allow_next_notice(&u->ask_unlisted_at, &state->is_unmapped[true]);
}

bool unmapped_is_busy(const struct unmapped *u)
{
	return u->busy_until > clock_ns(CLOCK_MONOTONIC);
}
