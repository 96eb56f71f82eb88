// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A reading takes the clock first, then the rings' heads. It leaves records that are later than
 * that clock for the next reading.
 *
 * The kernel takes a record's time just before its place in the ring. So an older record may not be
 * there yet. But its consequences (the process's next step on any CPU, its child's first) come
 * after it got its place. Hence they are later than the clock, and wait too. So the events of one
 * process are always in order. Only a record of an unrelated process may come late.
 */
#include "processes/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"
#include "processes/sideband_cpu.h"

#define MOST_RING_BYTES (512u << 10)
#define FEWEST_RING_BYTES (16u << 10)
#define MOST_BYTES (32ull << 20)

#define CHECK_CPUS_NS NS_PER_S

struct sideband {
	int epoll_fd;
	struct sideband_options options;
	struct sideband_cpu **cpus;
	size_t n, capacity;
	uint64_t checked_at;
	uint64_t bound, given; /* records from @bound on wait; the latest time of an event so far */
	_Alignas(uint64_t) uint8_t buffer[MAX_RECORD_BYTES];
};

static int follow_cpu(struct sideband *s, uint32_t cpu, struct error *e)
{
	cleanup(sideband_cpu_freep) struct sideband_cpu *c = NULL;
	int err = sideband_cpu_open(cpu, &s->options, &c, e);

	if (err)
		return err;
	c->ring.last = clock_ns(CLOCK_MONOTONIC);
	sideband_ring_look(&c->ring);

	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) < 0)
		return error_errno(e, "follow processes: epoll");
	array_push(s->cpus, s->n, s->capacity, TAKE(c));
	return 0;
}

static bool is_cpu_followed(const struct sideband *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->cpus[i]->cpu == cpu && !s->cpus[i]->has_gone)
			return true;
	return false;
}

/* Follow the online CPUs that are not followed yet. The kernel ends their numbers with -EINVAL. */
static int follow_online(struct sideband *s, struct error *e)
{
	for (uint32_t cpu = 0;; cpu++) {
		int err = is_cpu_followed(s, cpu) ? 0 : follow_cpu(s, cpu, e);

		if (err == -EINVAL && cpu > 0)
			return 0;
		if (err && err != -ENODEV)
			return err;
	}
}

static uint32_t default_ring_bytes(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t bytes = MOST_RING_BYTES;

	while (bytes > FEWEST_RING_BYTES &&
	       (uint64_t)bytes * (uint64_t)(n > 0 ? n : 1) > MOST_BYTES)
		bytes /= 2;
	return bytes;
}

static void leave_all_cpus(struct sideband *s)
{
	for (size_t i = 0; i < s->n; i++)
		sideband_cpu_free(s->cpus[i]);
	s->n = 0;
}

/*
 * Without CAP_IPC_LOCK, a user may lock kernel.perf_event_mlock_kb (516) for each CPU, and
 * RLIMIT_MEMLOCK. Other perf rings of the user count, too. So retry with smaller rings.
 */
static int follow_all_cpus(struct sideband *s, struct error *e)
{
	for (;;) {
		int err = follow_online(s, e);

		if (err != -ENOMEM || s->options.ring_bytes <= FEWEST_RING_BYTES)
			return err;
		leave_all_cpus(s);
		s->options.ring_bytes /= 2;
	}
}

static void sideband_closep(struct sideband **s)
{
	sideband_close(*s);
	*s = NULL;
}

int sideband_open(const struct sideband_options *options, struct sideband **ret, struct error *e)
{
	cleanup(sideband_closep) struct sideband *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	if (!s->options.ring_bytes)
		s->options.ring_bytes = default_ring_bytes();
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return error_errno(e, "follow processes: epoll");
	s->bound = s->given = s->checked_at = clock_ns(CLOCK_MONOTONIC);

	int err = follow_all_cpus(s, e);

	if (err)
		return err;
	*ret = TAKE(s);
	return 0;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	leave_all_cpus(s);
	free(s->cpus);
	cleanup_close_fd(&s->epoll_fd);
	free(s);
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll_fd;
}

uint64_t sideband_until(const struct sideband *s)
{
	return s->bound;
}

/* --- CPUs that come and go --- */

/* The ring of a CPU that has gone offline is still read to its end. */
static void leave_offline(struct sideband *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct sideband_cpu *c = s->cpus[i];

		const uint64_t enabled_ns = read_enabled_ns(c->fd);

		c->has_gone |= enabled_ns == c->enabled_ns;
		c->enabled_ns = enabled_ns;
		if (c->has_gone && c->ring.next == UINT64_MAX)
			sideband_cpu_free(c);
		else
			s->cpus[n++] = c;
	}
	s->n = n;
}

/*
 * The records of a new CPU until now are lost, in unknown number. While a CPU cannot be followed,
 * each check reports a loss and tries again.
 */
static int follow_new_cpus(struct sideband *s, sideband_visit *visit, void *context)
{
	struct process_event lost = { .type = PROCESS_LOST, .since = s->checked_at };
	const size_t n = s->n;

	if (follow_online(s, NULL) == 0 && s->n == n)
		return 0;
	lost.time = clock_ns(CLOCK_MONOTONIC);
	return visit(context, &lost);
}

static int check_cpus(struct sideband *s, uint64_t now, sideband_visit *visit, void *context)
{
	int result;

	if (now - s->checked_at < CHECK_CPUS_NS)
		return 0;
	leave_offline(s);
	result = follow_new_cpus(s, visit, context);
	s->checked_at = now;
	return result;
}

/* --- reading --- */

/* The ring with the earliest record before @bound; NULL: there is none. */
static struct sideband_ring *choose_ring(const struct sideband *s)
{
	struct sideband_ring *first = NULL;
	uint64_t least = s->bound;

	for (size_t i = 0; i < s->n; i++) {
		struct sideband_ring *ring = &s->cpus[i]->ring;

		if (ring->next < least) {
			least = ring->next;
			first = ring;
		}
	}
	return first;
}

int sideband_read(struct sideband *s, sideband_visit *visit, void *context)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct sideband_ring *ring;
	struct process_event event;
	int result = 0;

	s->bound = now;
	for (size_t i = 0; i < s->n; i++)
		sideband_ring_look(&s->cpus[i]->ring);
	while (!result && (ring = choose_ring(s))) {
		if (!sideband_ring_take(ring, s->buffer, &event))
			continue;
		s->given = later_time(s->given, event.time);
		result = visit(context, &event);
	}
	if (result)
		s->bound = s->given;
	return result ? result : check_cpus(s, now, visit, context);
}

void sideband_drop(struct sideband *s, sideband_visit *visit, void *context)
{
	struct process_event lost = { .type = PROCESS_LOST, .since = s->bound };

	for (size_t i = 0; i < s->n; i++)
		lost.n_lost += sideband_ring_drop(&s->cpus[i]->ring);
	lost.time = s->bound = clock_ns(CLOCK_MONOTONIC);
	if (lost.n_lost)
		(void)visit(context, &lost);
}
