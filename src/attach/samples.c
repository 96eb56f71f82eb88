// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Perf events on each CPU, whatever runs there. The programs filter: an event for a process would
 * have to be inherited by its threads, and those that exist need one each.
 */
#include "attach/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"

struct sample_event {
	int fd;
	uint32_t target, cpu;
	uint64_t period;     /* the event is sampled once in so many; 0: by frequency */
	uint64_t wanted;     /* of a clock that begins with a longer period: the user's. Else 0 */
	bool is_clock;       /* its timer may be late when it ends */
	bool is_partial;     /* the event counts on where it is not sampled */
	uint64_t enabled_ns; /* at the last look */
	/* Up to the last change of the period: the count, its periods, and those left out. */
	uint64_t counted, due, slowed;
	bool has_ended;
};

/* --- opening --- */

/* The kernel takes a shorter period of a clock for this one (perf_swevent_init_hrtimer()). */
#define SHORTEST_PERIOD_NS 10000ULL

/* A clock begins with this period at least, until the price of a hit is known. */
#define FIRST_PERIOD_NS 1000000ULL

static bool is_clock(const struct target *t)
{
	return t->perf_type == PERF_TYPE_SOFTWARE && (t->perf_config == PERF_COUNT_SW_CPU_CLOCK ||
						      t->perf_config == PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * How an event is sampled. By default, clocks and counters of hardware have a frequency, and each
 * event of the kernel's own is a sample. A clock's frequency is a period in fact, and the kernel
 * handles it as one.
 */
static struct sample_event sampling_of(const struct target *t, const struct attach_scope *scope)
{
	struct sample_event how = { .period = scope->period, .is_clock = is_clock(t) };

	if (!how.is_clock) {
		if (!scope->period && !scope->frequency && t->perf_type == PERF_TYPE_SOFTWARE)
			how.period = 1;
		return how;
	}
	how.is_partial = t->exclude_user || t->exclude_kernel;
	if (!how.period)
		how.period = NS_PER_S / (scope->frequency ? scope->frequency : SAMPLES_PER_S);
	if (how.period < SHORTEST_PERIOD_NS) {
		log_warn_once("e:%s: the kernel's shortest period is %llu ns", t->name,
			      SHORTEST_PERIOD_NS);
		how.period = SHORTEST_PERIOD_NS;
	}
	if (how.period < FIRST_PERIOD_NS) {
		how.wanted = how.period;
		how.period = FIRST_PERIOD_NS;
	}
	return how;
}

static struct perf_event_attr attr_of(const struct target *t, const struct sample_event *how,
				      const struct attach_scope *scope)
{
	struct perf_event_attr attr = {
		.type = t->perf_type,
		.size = sizeof(attr),
		.config = t->perf_config,
		.sample_period = how->period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_user = t->exclude_user,
		.exclude_kernel = t->exclude_kernel,
		.exclude_hv = t->exclude_kernel || t->exclude_user,
	};

	if (!how->period) {
		attr.sample_freq = scope->frequency ? scope->frequency : SAMPLES_PER_S;
		attr.freq = 1;
	}
	return attr;
}

static bool is_cpu_wanted(const struct attach_scope *scope, uint32_t cpu)
{
	for (size_t i = 0; i < scope->n_cpus; i++)
		if (scope->cpus[i] == cpu)
			return true;
	return scope->n_cpus == 0;
}

static bool has_event(const struct samples *s, uint32_t target, uint32_t cpu)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->events[i].cpu == cpu && s->events[i].target == target &&
		    !s->events[i].has_ended)
			return true;
	return false;
}

/*
 * Open the event of @target on each CPU of the scope that has none. A CPU that is offline gets
 * none. Returns their number. *@ret_refused: on how many CPUs the kernel refused it. *@ret_code: a
 * refusal, negative errno; -ENODEV: there is none.
 */
static uint32_t open_on_cpus(struct attachment *a, uint32_t target, uint32_t *ret_refused,
			     int *ret_code)
{
	struct samples *s = &a->samples;
	struct sample_event event = sampling_of(&a->targets[target], &a->scope);
	const struct perf_event_attr attr = attr_of(&a->targets[target], &event, &a->scope);
	uint32_t n = 0;

	event.target = target;
	*ret_refused = 0;
	*ret_code = -ENODEV;
	for (event.cpu = 0; event.cpu < a->scope.n_possible_cpus; event.cpu++) {
		if (!is_cpu_wanted(&a->scope, event.cpu) || has_event(s, target, event.cpu))
			continue;

		cleanup_close int fd = link_open_event(&attr, -1, (int)event.cpu);
		const int code = link_event(a, fd, PROGRAM_PERF_EVENT, target);

		if (!code) {
			event.fd = TAKE_FD(fd);
			array_push(s->events, s->n, s->capacity, event);
			n++;
		} else if (code != -ENODEV) {
			*ret_code = code;
			++*ret_refused;
		}
	}
	return n;
}

/* If some CPUs have none, the user must know that they are not sampled. */
void perf_event_attach(struct attachment *a, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		const struct target *t = &a->targets[chosen->items[i]];
		uint32_t n_refused;
		int code;
		const uint32_t n = open_on_cpus(a, chosen->items[i], &n_refused, &code);

		attachment_note(a, chosen->items[i], n ? 0 : code);
		if (n && n_refused)
			log_warn("e:%s: %u CPUs are not sampled: %s", t->name, n_refused,
				 refusal_words(t->kind, code));
	}
}

void samples_fini(struct samples *s)
{
	for (size_t i = 0; i < s->n; i++)
		close(s->events[i].fd);
	cleanup_free_p(&s->events);
	s->n = s->capacity = 0;
}

/* See which events have ended since the last call, which was a while ago. They are enabled. */
static void look_for_ended(struct samples *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sample_event *event = &s->events[i];
		const uint64_t enabled_ns = read_enabled_ns(event->fd);

		event->has_ended |= enabled_ns == event->enabled_ns;
		event->enabled_ns = enabled_ns;
	}
}

uint32_t attach_new_cpus(struct attachment *a)
{
	uint32_t n = 0, n_refused;
	int code;

	if (!a->samples.n)
		return 0;
	look_for_ended(&a->samples);
	for (size_t i = 0; i < a->plan->n; i++)
		if (a->plan->backends[i] == BACKEND_PERF_EVENT)
			n += open_on_cpus(a, (uint32_t)i, &n_refused, &code);
	if (n)
		samples_enable(a);
	return n;
}

/* --- counting, and pacing --- */

/* The answer of read(2). */
struct event_count {
	uint64_t count, enabled_ns, running_ns;
};

/* The wanted periods that were left out while the present one was set. */
static uint64_t slowed_since(const struct sample_event *event, uint64_t count)
{
	const uint64_t n = count - event->counted;
	const bool is_slowed = event->wanted && event->period && !event->is_partial;

	return is_slowed ? n / event->wanted - n / event->period : 0;
}

static void set_sample_period(struct sample_event *event, uint64_t period)
{
	struct event_count now;

	/* A period that ends between the two calls is booked as too few periods at most. */
	if (ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &period) < 0 ||
	    read(event->fd, &now, sizeof(now)) != sizeof(now))
		return;
	event->slowed += slowed_since(event, now.count);
	event->due += (now.count - event->counted) / event->period;
	event->counted = now.count;
	event->period = period;
}

/*
 * Our program measures its own time. The interrupt around it takes 1 to 3 us, and several times
 * that in some virtual machines.
 */
#define INTERRUPT_NS 5000
#define MOST_SHARE 4 /* a quarter of a CPU */

bool attachment_pace(struct attachment *a, uint64_t price_ns, uint64_t *ret_ns,
		     uint64_t *ret_wanted_ns)
{
	bool is_slowed = false;
	uint64_t least, n_clocks = 0; /* of a CPU */

	for (size_t i = 0; i < a->plan->n; i++)
		n_clocks += a->plan->backends[i] == BACKEND_PERF_EVENT &&
			    sampling_of(&a->targets[i], &a->scope).wanted;
	least = MOST_SHARE * n_clocks * (2 * price_ns + INTERRUPT_NS);
	for (size_t i = 0; i < a->samples.n; i++) {
		struct sample_event *event = &a->samples.events[i];
		const uint64_t wanted = event->wanted, now = event->period;
		const uint64_t period = wanted > least ? wanted : least;

		if (!wanted || event->has_ended)
			continue;
		if (period > now + now / 4 || period < now - now / 4 ||
		    (period == wanted && now != wanted))
			set_sample_period(event, period);
		if (event->period > wanted) {
			is_slowed = true;
			*ret_ns = event->period;
			*ret_wanted_ns = wanted;
		}
	}
	return is_slowed;
}

static void control_all(const struct samples *s, unsigned long request)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->events[i].has_ended)
			(void)ioctl(s->events[i].fd, request, 0);
}

void samples_enable(const struct attachment *a)
{
	control_all(&a->samples, PERF_EVENT_IOC_ENABLE);
}

void samples_end(struct attachment *a)
{
	control_all(&a->samples, PERF_EVENT_IOC_DISABLE);
	a->samples.last = samples_read(a);
	a->samples.is_over = true;
}

/* The timer of a clock may be this late when an event ends. */
#define TIMER_SLACK_NS 1000000ULL

static void add_event(struct samples_state *to, const struct sample_event *event)
{
	const uint64_t late =
		event->period / 2 < TIMER_SLACK_NS ? event->period / 2 : TIMER_SLACK_NS;
	/* The last so many counts may not have led to a run yet. */
	const uint64_t slack = event->is_clock ? late : 0;
	struct event_count now;
	uint64_t due = event->due;

	if (!event->period || event->is_partial)
		to->is_counted = false;
	if (read(event->fd, &now, sizeof(now)) != sizeof(now))
		return;
	if (event->period && now.count - event->counted > slack)
		due += (now.count - event->counted - slack) / event->period;
	if (!event->is_partial)
		to->n_due += due;
	to->n_slowed += event->slowed + slowed_since(event, now.count);
	if (!event->has_ended && now.enabled_ns &&
	    (double)now.running_ns < to->least_time * (double)now.enabled_ns)
		to->least_time = (double)now.running_ns / (double)now.enabled_ns;
}

struct samples_state samples_read(const struct attachment *a)
{
	const struct samples *s = &a->samples;
	struct samples_state ret = { .n = s->n, .is_counted = true, .least_time = 1 };

	if (s->is_over)
		return s->last;
	for (size_t i = 0; i < s->n; i++)
		add_event(&ret, &s->events[i]);
	return ret;
}
