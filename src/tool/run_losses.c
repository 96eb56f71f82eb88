// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run_losses.h"

#include "base/log.h"

/* Warns about events that had a counter for a part of the time only. */
#define ALL_THE_TIME 0.999

void samples_end(struct run *r)
{
	const struct samples *samples = attachment_samples(r->attachment);

	samples_disable(samples);
	r->accounts.samples = samples_read(samples);
	r->accounts.is_sampled = samples->n > 0;
	r->accounts.is_over = true;
}

/*
 * The samples that the kernel left out, up to now. While the events count, more of them come
 * between the two readings: then it is fewer by these.
 */
static uint64_t count_skipped(const struct run *r, const struct samples_state *state)
{
	const uint64_t before = r->accounts.skipped_before;
	uint64_t n_seen;

	if (!state->n_due || !state->is_counted)
		return before;
	n_seen = losses_counter(r->object, r->n_cpus, SAMPLES);
	return state->n_due > n_seen + before ? state->n_due - n_seen : before;
}

struct named_losses run_losses(struct run *r, struct losses *losses)
{
	struct loss_accounts *a = &r->accounts;
	const uint64_t missed = attachment_missed(r->attachment);
	const struct samples_state state =
		a->is_over ? a->samples : samples_read(attachment_samples(r->attachment));
	const uint64_t skipped = count_skipped(r, &state);
	const uint64_t slowed =
		state.n_slowed > a->slowed_before ? state.n_slowed : a->slowed_before;
	uint64_t counts[LOSS_N];
	struct named_losses ret;

	losses_read(losses, counts);
	counts[LOSS_MISSED] = missed - a->missed_before;
	counts[LOSS_SKIPPED] = skipped - a->skipped_before;
	counts[LOSS_SLOWED] = slowed - a->slowed_before;
	for (int i = 0; i < LOSS_N; i++)
		ret.of[i] = (struct profile_loss){ loss_text((enum loss)i), counts[i] };
	a->missed_before = missed;
	a->skipped_before = skipped;
	a->slowed_before = slowed;
	if (r->follow)
		follower_tell_losses(r->follow);
	return ret;
}

void samples_describe(const struct run *r)
{
	const struct samples_state *s = &r->accounts.samples;

	if (!r->accounts.is_sampled)
		return;
	log_debug("perf events: %llu periods, %llu samples", (unsigned long long)s->n_due,
		  (unsigned long long)losses_counter(r->object, r->n_cpus, SAMPLES));
	if (!s->is_counted)
		log_warn("samples may be missing: by frequency, the kernel does not count those "
			 "that it leaves out");
	if (s->least_time < ALL_THE_TIME)
		log_warn("an event had a counter for %.1f%% of the time only: others hold the "
			 "CPU's counters",
			 100 * s->least_time);
}
