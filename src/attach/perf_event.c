// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A perf event on each CPU, whatever runs there. The programs filter: an event for a process would
 * have to be inherited by its threads, and those that exist need one each.
 */
#include <errno.h>

#include "attach/backend.h"
#include "base/log.h"

#define NS_PER_S 1000000000ULL

/* The kernel takes a shorter period of a clock for this one (perf_swevent_init_hrtimer()). */
#define SHORTEST_PERIOD_NS 10000ULL

static bool is_clock(const struct target *t)
{
	return t->perf_type == PERF_TYPE_SOFTWARE && (t->perf_config == PERF_COUNT_SW_CPU_CLOCK ||
						      t->perf_config == PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * By default, clocks and counters of hardware have a frequency, and each event of the kernel's own
 * is a sample. A clock's frequency is a period in fact, and the kernel handles it as one.
 */
static struct sampling sampling_of(const struct target *t, const struct attach_scope *scope)
{
	struct sampling how = { .period = scope->period, .frequency = scope->frequency };

	if (!how.period && !how.frequency) {
		how.frequency = SAMPLES_PER_S;
		if (t->perf_type == PERF_TYPE_SOFTWARE && !is_clock(t))
			how.period = 1;
	}
	if (!is_clock(t))
		return how;
	if (!how.period)
		how.period = NS_PER_S / how.frequency;
	if (how.period < SHORTEST_PERIOD_NS) {
		log_warn_once("e:%s: the kernel's shortest period is %llu ns", t->name,
			      SHORTEST_PERIOD_NS);
		how.period = SHORTEST_PERIOD_NS;
	}
	if (how.period < FIRST_PERIOD_NS) {
		how.wanted = how.period;
		how.period = FIRST_PERIOD_NS;
	}
	how.slack = samples_slack(how.period);
	return how;
}

static struct perf_event_attr attr_of(const struct target *t, const struct sampling *how)
{
	struct perf_event_attr attr = {
		.type = t->perf_type,
		.size = sizeof(attr),
		.config = t->perf_config,
		.config1 = t->perf_config1,
		.config2 = t->perf_config2,
		.sample_period = how->period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_user = t->exclude_user,
		.exclude_kernel = t->exclude_kernel,
		.exclude_hv = t->exclude_kernel || t->exclude_user,
	};

	if (!how->period) {
		attr.sample_freq = how->frequency;
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

struct perf_event_cpus perf_event_add_cpus(struct attaching *at, uint32_t target)
{
	const struct target *t = &at->targets[target];
	struct sampling how = sampling_of(t, at->scope);
	const struct perf_event_attr attr = attr_of(t, &how);
	struct perf_event_cpus ret = { .code = -ENODEV };

	how.is_partial = is_clock(t) && (t->exclude_user || t->exclude_kernel);
	for (uint32_t cpu = 0; cpu < at->scope->n_possible_cpus; cpu++) {
		if (!is_cpu_wanted(at->scope, cpu) ||
		    samples_has(&at->attachment->samples, target, cpu))
			continue;

		const int code = attaching_add_sampled(at, &attr, cpu, &how, target);

		ret.n_placed += code == 0;
		if (code && code != -ENODEV) {
			ret.code = code;
			ret.n_refused++;
		}
	}
	return ret;
}

/* If some CPUs have none, the user must know that they are not sampled. */
static void attach_event(struct attaching *at, uint32_t target)
{
	const struct target *t = &at->targets[target];
	const struct perf_event_cpus on = perf_event_add_cpus(at, target);

	attaching_note(at, target, on.n_placed ? 0 : on.code);
	if (on.n_placed && on.n_refused)
		log_warn("e:%s: %u CPUs are not sampled: %s", t->name, on.n_refused,
			 refusal_words(t->kind, on.code));
}

void perf_event_attach(struct attaching *at, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++)
		attach_event(at, chosen->items[i]);
}
