// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A flood of hits, processes or mappings does not end with the run. So no part of the end goes on
 * while something comes. Records and notices of processes that there is no time for are losses.
 *
 * The bound is of work (CPU time of the main thread) and of waits for others. A busy machine, which
 * gives us little of a CPU, costs nothing but time.
 */
#include "tool/ending.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "tool/run.h"
#include "tool/run_losses.h"

/*
 * After its last hit, the run does so much work for records and notices. Those of 6,000 programs,
 * which waited while nobody read the output, took less than half of it. It also waits so long for
 * all helpers that work on files of other users, half of it before the last report. Walks of
 * deferred hits and lists of mappings have half of it each.
 */
#define LAST_NS NS_PER_S
/* For names in files that only root can change. They are large at most, unless a helper hangs. */
#define LAST_ROOTS_NS (20 * NS_PER_S)
/* After a wait of this time, look whether somebody has stopped the warden. */
#define STOPPED_NS (NS_PER_S / 20)

/* Look for a signal, and at the time, so often. */
#define LOOK_NS (NS_PER_S / 50)
#define LOOK_RECORDS 64

/* Has a signal ended the run? From then on, the user waits for the report. */
static void note_signal(struct run *r)
{
	if (r->ending.signal_at || !output_must_end(&r->output))
		return;
	r->ending.signal_at = clock_ns(CLOCK_MONOTONIC);
	r->ending.cpu_at_signal = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	helpers_hurry(&r->helpers);
}

static void look_for_signal(struct run *r, uint64_t now)
{
	if (now - r->ending.looked_at < LOOK_NS)
		return;
	note_signal(r);
	r->ending.looked_at = now;
}

/* The main thread's CPU time since the signal; 0 without one. */
static uint64_t work_since_signal(const struct ending *n)
{
	return n->signal_at ? clock_ns(CLOCK_THREAD_CPUTIME_ID) - n->cpu_at_signal : 0;
}

/* A call may take half of what is left, so that one file leaves time for others. */
static bool is_enough_for_others(struct ending *n, const struct client_wait *wait)
{
	n->waited_for_others_ns += wait->ns;
	return n->waited_for_others_ns + wait->all_ns >= (n->is_all_read ? LAST_NS : LAST_NS / 2);
}

bool ending_is_enough(void *run, const struct client_wait *wait)
{
	struct run *r = run;
	struct ending *n = &r->ending;
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	look_for_signal(r, now);
	if (!n->signal_at)
		return n->is_all_read && wait->role != ROLE_PARSER && !wait->is_roots &&
		       is_enough_for_others(n, wait);
	if (waiter_has_signal(&r->waiter)) /* a second one */
		return true;
	if (wait->all_ns > STOPPED_NS && !n->has_no_warden)
		n->has_no_warden = helpers_have_no_warden(&r->helpers);
	if (wait->is_stopped || n->has_no_warden)
		return true;
	if (wait->role == ROLE_PARSER || wait->is_roots)
		return now > n->signal_at + LAST_ROOTS_NS;
	return is_enough_for_others(n, wait);
}

bool ending_is_near(void *run)
{
	const struct run *r = run;

	return r->output.must_end || waiter_must_end(&r->waiter);
}

bool ending_has_time(struct run *r)
{
	struct ending *n = &r->ending;

	if (n->is_too_late || n->n_records++ % LOOK_RECORDS)
		return !n->is_too_late;
	look_for_signal(r, clock_ns(CLOCK_MONOTONIC));
	n->is_too_late = work_since_signal(n) >= LAST_NS;
	return !n->is_too_late;
}

/* No hits come any more, and so no notices. But records of processes still do. */
static void hear_last(struct run *r)
{
	struct ending *n = &r->ending;
	size_t before, n_left = SIZE_MAX;

	do {
		before = n_left;
		run_hear(r);
		n_left = notices_n_waiting(r->notices);
		n->is_too_late = n->is_too_late || work_since_signal(n) >= LAST_NS;
	} while (n_left && n_left < before && !n->is_too_late);
	if (r->follow && n->is_too_late)
		follower_drop(r->follow, n_left);
}

int ending_settle(struct run *r, struct error *e)
{
	int err;

	r->is_counting = false;
	note_signal(r);
	samples_end(r);
	err = r->tool->stop(r, e);
	if (r->unwinder)
		unwinder_last(r->unwinder);
	hear_last(r);
	if (!err && r->processes)
		processes_settle(r->processes, clock_ns(CLOCK_MONOTONIC) + LAST_NS / 2);
	deferral_settle(r, 0, LAST_NS / 2);
	if (r->unwinder) { /* it ends while the report is made, so the run need not wait for it */
		unwinder_end(r->unwinder);
		helpers_end_tables(&r->helpers);
	}
	r->ending.is_all_read = true;
	return err;
}

void ending_describe(const struct run *r)
{
	const struct ending *n = &r->ending;

	if (n->signal_at)
		log_debug("after the signal: %.3f s, with %.3f s of work, and %.3f s of waits for "
			  "files of others",
			  (double)(clock_ns(CLOCK_MONOTONIC) - n->signal_at) / NS_PER_S,
			  (double)work_since_signal(n) / NS_PER_S,
			  (double)n->waited_for_others_ns / NS_PER_S);
}
