// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run_losses.h"

#include "base/log.h"

/* Warns about events that had a counter for a part of the time only. */
#define ALL_THE_TIME 0.999

void samples_begin(struct run *r)
{
	samples_enable(attachment_samples(r->attachment));
}

void samples_end(struct run *r)
{
	const struct samples *samples = attachment_samples(r->attachment);

	samples_disable(samples);
	r->samples = samples_read(samples);
	r->is_sampled = samples->n > 0;
	r->are_samples_over = true;
}

/*
 * The samples that the kernel left out, up to now. While the events count, more of them come
 * between the two readings: then it is fewer by these.
 */
static uint64_t count_skipped(const struct run *r, const struct samples_state *state)
{
	uint64_t n_seen;

	if (!state->n_due || !state->is_counted)
		return r->skipped_before;
	n_seen = losses_counter(r->object, r->n_cpus, SAMPLES);
	return state->n_due > n_seen + r->skipped_before ? state->n_due - n_seen
							 : r->skipped_before;
}

struct named_losses run_losses(struct run *r, struct losses *losses)
{
	const uint64_t missed = attachment_missed(r->attachment);
	const struct samples_state state =
		r->are_samples_over ? r->samples : samples_read(attachment_samples(r->attachment));
	const uint64_t skipped = count_skipped(r, &state);
	const uint64_t slowed =
		state.n_slowed > r->slowed_before ? state.n_slowed : r->slowed_before;
	uint64_t counts[LOSS_N];
	struct named_losses ret;

	losses_read(losses, counts);
	counts[LOSS_MISSED] = missed - r->missed_before;
	counts[LOSS_SKIPPED] = skipped - r->skipped_before;
	counts[LOSS_SLOWED] = slowed - r->slowed_before;
	for (int i = 0; i < LOSS_N; i++)
		ret.of[i] = (struct profile_loss){ loss_text((enum loss)i), counts[i] };
	r->missed_before = missed;
	r->skipped_before = skipped;
	r->slowed_before = slowed;
	if (r->follow)
		follower_tell_losses(r->follow);
	return ret;
}

void samples_describe(const struct run *r)
{
	if (!r->is_sampled)
		return;
	log_debug("perf events: %llu periods, %llu samples", (unsigned long long)r->samples.n_due,
		  (unsigned long long)losses_counter(r->object, r->n_cpus, SAMPLES));
	if (!r->samples.is_counted)
		log_warn("samples may be missing: by frequency, the kernel does not count those "
			 "that it leaves out");
	if (r->samples.least_time < ALL_THE_TIME)
		log_warn("an event had a counter for %.1f%% of the time only: others hold the "
			 "CPU's counters",
			 100 * r->samples.least_time);
}
