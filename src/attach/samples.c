// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/attach.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/read.h"

struct sample_event {
	int fd;
	uint32_t target, cpu;
	uint64_t enabled_ns; /* at the last look */
	struct sampling how;
	/* Up to the last change of the period: the count, its periods, and those left out. */
	uint64_t counted, due, slowed;
	bool has_ended;
};

void samples_add(struct samples *s, int fd, uint32_t target, uint32_t cpu,
		 const struct sampling *how)
{
	const struct sample_event event = { .fd = fd, .target = target, .cpu = cpu, .how = *how };

	array_push(s->events, s->n, s->capacity, event);
}

void samples_look(struct samples *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sample_event *event = &s->events[i];
		const uint64_t enabled_ns = read_enabled_ns(event->fd);

		event->has_ended |= enabled_ns == event->enabled_ns;
		event->enabled_ns = enabled_ns;
	}
}

bool samples_has(const struct samples *s, uint32_t target, uint32_t cpu)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->events[i].cpu == cpu && s->events[i].target == target &&
		    !s->events[i].has_ended)
			return true;
	return false;
}

void samples_fini(struct samples *s)
{
	for (size_t i = 0; i < s->n; i++)
		close(s->events[i].fd);
	free(s->events);
	*s = (struct samples){};
}

/* The answer of read(2) for the read_format of attach/kernel_probes.c. */
struct event_count {
	uint64_t count, enabled_ns, running_ns;
};

/* The wanted periods that were left out while the present one was set. */
static uint64_t slowed_since(const struct sample_event *event, uint64_t count)
{
	const struct sampling *how = &event->how;
	const uint64_t n = count - event->counted;
	const bool is_slowed = how->wanted && how->period && !how->is_partial;

	return is_slowed ? n / how->wanted - n / how->period : 0;
}

static void set_sample_period(struct sample_event *event, uint64_t period)
{
	struct event_count now;

	/* A period that ends between the two calls is booked as too few periods at most. */
	if (ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &period) < 0 ||
	    read(event->fd, &now, sizeof(now)) != sizeof(now))
		return;
	event->slowed += slowed_since(event, now.count);
	event->due += (now.count - event->counted) / event->how.period;
	event->counted = now.count;
	event->how.period = period;
	event->how.slack = samples_slack(period);
}

/*
 * Our program measures its own time. The interrupt around it takes 1 to 3 us, and several times
 * that in some virtual machines.
 */
#define INTERRUPT_NS 5000
#define MOST_SHARE 4 /* a quarter of a CPU */

const struct sampling *samples_pace(struct samples *s, uint64_t price_ns)
{
	const uint64_t least = MOST_SHARE * (2 * price_ns + INTERRUPT_NS);
	const struct sampling *slowed = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct sample_event *event = &s->events[i];
		const uint64_t wanted = event->how.wanted, now = event->how.period;
		const uint64_t period = wanted > least ? wanted : least;

		if (!wanted || event->has_ended)
			continue;
		if (period > now + now / 4 || period < now - now / 4 ||
		    (period == wanted && now != wanted))
			set_sample_period(event, period);
		if (event->how.period > wanted)
			slowed = &event->how;
	}
	return slowed;
}

static void control_all(const struct samples *s, unsigned long request)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->events[i].has_ended)
			(void)ioctl(s->events[i].fd, request, 0);
}

void samples_enable(const struct samples *s)
{
	control_all(s, PERF_EVENT_IOC_ENABLE);
}

void samples_disable(const struct samples *s)
{
	control_all(s, PERF_EVENT_IOC_DISABLE);
}

static void add_event(struct samples_state *to, const struct sample_event *event)
{
	const struct sampling *how = &event->how;
	struct event_count now;
	uint64_t due = event->due;

	if (!how->period || how->is_partial)
		to->is_counted = false;
	if (read(event->fd, &now, sizeof(now)) != sizeof(now))
		return;
	if (how->period && now.count - event->counted > how->slack)
		due += (now.count - event->counted - how->slack) / how->period;
	if (!how->is_partial)
		to->n_due += due;
	to->n_slowed += event->slowed + slowed_since(event, now.count);
	if (!event->has_ended && now.enabled_ns &&
	    (double)now.running_ns < to->least_time * (double)now.enabled_ns)
		to->least_time = (double)now.running_ns / (double)now.enabled_ns;
}

struct samples_state samples_read(const struct samples *s)
{
	struct samples_state ret = { .is_counted = true, .least_time = 1 };

	for (size_t i = 0; i < s->n; i++)
		add_event(&ret, &s->events[i]);
	return ret;
}
