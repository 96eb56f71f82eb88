// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Close probes. Before it releases a probe, Linux waits until no CPU can be in it, one probe at a
 * time. Each descriptor takes, on 6.18:
 *
 *	link on a perf event      30 ms
 *	perf event: tracepoint    40 ms, with event_mutex held
 *	perf event: uprobe        80 ms, with event_mutex held
 *
 * 2,153 uprobes would take minutes. There are two remedies:
 *
 * - Many threads close links, so their waits pass together (300 links: 0.13 s). Some kernels, 6.1
 *   and 6.12 among them, wait with bpf_event_mutex held: the wait came with the fix of a use after
 *   free. So we close links in rounds, which grow only while that pays.
 * - When the time is up, a child inherits the rest. It does nothing but end, and the kernel closes
 *   its descriptors as it exits (leftover.c).
 *
 * Not chosen: faster grace periods (/sys/kernel/rcu_expedited). An event takes little less (Tasks
 * Trace RCU). It is a setting of the whole system, and would stay if we were killed.
 *
 * Links for many places (kprobe.multi, uprobe.multi) have one wait each, and no events.
 */
#include "attach/detach.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "attach/leftover.h"
#include "attach/orphan.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define MAX_THREADS 127 /* besides this one */
#define THREAD_STACK_BYTES (128 << 10)
#define BUDGET_NS 600000000
#define FIRST_ROUND 8 /* fewest links of a round */

struct closing {
	const int *fds;
	size_t n;
	atomic_size_t next;
};

/* The descriptors that another process closes. */
struct aside {
	int begin; /* the process starts when this pipe ends */
	const int *links;
	size_t n_links;
	const int *events;
	size_t n_events;
};

static void *close_links_of_thread(void *data)
{
	struct closing *c = data;

	for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;)
		close(c->fds[i]);
	return NULL;
}

/* Close all, with many waits at a time. */
static void close_with_threads(const int *fds, size_t n)
{
	struct closing c = { .fds = fds, .n = n };
	pthread_t threads[MAX_THREADS];
	size_t n_threads = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	/* This thread closes, too, so threads that cannot be made do not matter. */
	while (n_threads + 1 < n && n_threads < MAX_THREADS) {
		if (pthread_create(&threads[n_threads], &attr, close_links_of_thread, &c) != 0)
			break;
		n_threads++;
	}
	pthread_attr_destroy(&attr);

	close_links_of_thread(&c);
	for (size_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
}

/* Close links while all can be closed by @deadline. Returns the number of closed ones. */
static size_t close_links(const int *links, size_t n, uint64_t deadline)
{
	size_t done = 0, round = FIRST_ROUND;

	while (done < n) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC);

		if (round > n - done)
			round = n - done;
		close_with_threads(links + done, round);
		done += round;

		/* If these waited one after another, twice as many take twice as long. */
		uint64_t end = clock_ns(CLOCK_MONOTONIC);
		if (deadline != UINT64_MAX && end + 2 * (end - start) > deadline)
			break;
		round = round * 2 > MAX_THREADS + 1 ? MAX_THREADS + 1 : round * 2;
	}
	return done;
}

static size_t close_events(const int *events, size_t n, uint64_t deadline)
{
	size_t done = 0;

	while (done < n && clock_ns(CLOCK_MONOTONIC) < deadline)
		close(events[done++]);
	return done;
}

/* Close the descriptors that are left when the time is up. */
static void close_late_links(const int *links, size_t n_links, const int *events, size_t n_events)
{
	const size_t n = n_links + n_events;
	const size_t n_probes = n_links > n_events ? n_links : n_events;
	cleanup_free int *rest = xcalloc(n, sizeof(*rest));

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		rest[i] = i < n_links ? links[i] : events[i - n_links];
	log_warn("%zu probes no longer count, but the kernel is still removing them", n_probes);
	if (leftover_leave(rest, n))
		return;
	for (size_t i = 0; i < n; i++)
		close(rest[i]);
}

void detach_all(const int *links, size_t n_links, const int *events, size_t n_events)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + BUDGET_NS;
	size_t links_done = close_links(links, n_links, deadline);
	size_t events_done = close_events(events, n_events, deadline);
	close_late_links(links + links_done, n_links - links_done, events + events_done,
			 n_events - events_done);
}

/* In the other process: close all once it is the last to hold them. Then its pipe ends with it. */
static void close_aside(void *data)
{
	const struct aside *a = data;
	char byte;

	(void)!read(a->begin, &byte, 1);
	if (close_links(a->links, a->n_links, UINT64_MAX) == a->n_links)
		(void)close_events(a->events, a->n_events, UINT64_MAX);
}

static bool start_aside(struct aside *a, int gone)
{
	const size_t n = a->n_links + a->n_events;
	cleanup_free int *kept = xcalloc(n + 2, sizeof(*kept));

	memcpy(kept, a->links, a->n_links * sizeof(*kept));
	memcpy(kept + a->n_links, a->events, a->n_events * sizeof(*kept));
	kept[n] = a->begin;
	kept[n + 1] = gone;
	return orphan_start(kept, n + 2, close_aside, a, "detaching") != 0;
}

int detach_aside(const int *links, size_t n_links, const int *events, size_t n_events)
{
	int begin[2], gone[2];

	if (pipe2(begin, O_CLOEXEC) < 0)
		return -1;

	cleanup_close int begin_reader = begin[0];
	cleanup_close int begin_writer = begin[1];

	if (pipe2(gone, O_CLOEXEC) < 0)
		return -1;

	cleanup_close int gone_reader = gone[0];
	cleanup_close int gone_writer = gone[1];
	struct aside a = { begin_reader, links, n_links, events, n_events };

	if (!start_aside(&a, gone_writer))
		return -1;
	/*
	 * This is quick, as ours are not the last. The pipe ends after them and starts the process.
	 */
	for (size_t i = 0; i < n_links; i++)
		close(links[i]);
	for (size_t i = 0; i < n_events; i++)
		close(events[i]);
	return TAKE_FD(gone_reader);
}
