// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Probes in the kernel, and perf events: one of each backend, and links of many functions. */
#include "attach/backend.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"

/* --- tracepoints --- */

/* See on_switch() in bpf/pair.bpf.h. */
static int attach_switch(struct attaching *at)
{
	const int fd = bpf_raw_tracepoint_open("sched_switch",
					       object_program_fd(at->object, PROGRAM_SWITCH));

	return attaching_add_link(at, fd < 0 ? -errno : fd);
}

/*
 * The program runs even if the event is disabled (perf_event_attach_bpf_prog()). A disabled event
 * writes no record, which would cost time at each hit.
 */
static int attach_tracepoint(struct attaching *at, const struct target *target, uint32_t number)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = target->tracepoint_id,
		.disabled = 1,
	};

	if (target->role == ROLE_SWITCH)
		return attach_switch(at);
	return attaching_add_event(at, &attr, -1, plan_program(BACKEND_TRACEPOINT, target), number);
}

void tracepoint_attach(struct attaching *at, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		const struct target *target = &at->targets[chosen->items[i]];
		int code = attach_tracepoint(at, target, chosen->items[i]);

		attaching_note(at, chosen->items[i], code);
	}
}

/* --- kprobes --- */

/*
 * One perf event for each kernel function, by perf's own kprobe PMU. Such a probe ends with its
 * descriptor, unlike one that is written to tracefs.
 *
 * An address is better than a name, since it is unique. Linux 6.7 refuses a name that several
 * functions have; older kernels silently take the first of them.
 */

/* /sys/bus/event_source/devices/kprobe/format/retprobe: config:0, on all kernels. */
#define AT_RETURN 1

static int attach_single_kprobe(struct attaching *at, uint32_t number)
{
	const struct target *target = &at->targets[number];
	cleanup_free char *name = NULL;
	struct perf_event_attr attr = {
		.type = at->plan->features.kprobe_pmu,
		.size = sizeof(attr),
		.config = target->kind == TARGET_KERNEL_RETURN ? AT_RETURN : 0,
	};

	if (target->addr) {
		attr.kprobe_addr = target->addr;
	} else {
		name = target->module ? xasprintf("%s:%s", target->module, target->symbol)
				      : xstrdup(target->symbol);
		attr.kprobe_func = (uintptr_t)name;
	}
	return attaching_add_event(
		at, &attr, -1,
		target->kind == TARGET_KERNEL_RETURN ? PROGRAM_KRETURN : PROGRAM_KPROBE, number);
}

void kprobe_attach(struct attaching *at, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		int code = attach_single_kprobe(at, chosen->items[i]);

		attaching_note(at, chosen->items[i], code);
	}
}

/* --- kprobe.multi --- */

/*
 * One link for thousands of kernel functions, by address if it is known, else by symbol.
 *
 * Several functions may have one name, and some of them may not be traceable. If addresses were
 * found by name, the kernel may refuse the whole list because of them. Halving finds them, but
 * leaves a link for each piece, and each link is a wait at the end (35 links: 9 s instead of 2). So
 * a refused list is divided. Functions that have their name alone are tried once more as a whole.
 * Namesakes are halved.
 */

/* Places, as parallel arrays. */
struct places {
	uint32_t *targets;
	uint64_t *addrs;
	const char **symbols;
	uint64_t *cookies; /* or NULL; made when all places have been added */
	size_t n;
};

static void places_init(struct places *p, size_t capacity)
{
	p->targets = xcalloc(capacity, sizeof(*p->targets));
	p->addrs = xcalloc(capacity, sizeof(*p->addrs));
	p->symbols = xcalloc(capacity, sizeof(*p->symbols));
	p->cookies = NULL;
	p->n = 0;
}

static void places_fini(struct places *p)
{
	free(p->targets);
	free(p->addrs);
	free(p->symbols);
	free(p->cookies);
}

static void places_add(struct places *p, const struct attaching *at, uint32_t target)
{
	p->targets[p->n] = target;
	p->addrs[p->n] = at->targets[target].addr;
	p->symbols[p->n] = at->targets[target].symbol;
	p->n++;
}

static int link_functions(const struct batch *b, size_t first, size_t n)
{
	const struct link_places range = batch_range(b, first, n);
	const int prog_fd = object_program_fd(b->at->object, b->program);

	return attaching_add_link(
		b->at, link_kprobe_multi(prog_fd, &range, b->program == PROGRAM_KRETURN_MULTI));
}

static struct batch make_kprobe_batch(struct attaching *at, struct places *p, bool by_symbol)
{
	const enum object_program program =
		p->n && at->targets[p->targets[0]].kind == TARGET_KERNEL_RETURN
			? PROGRAM_KRETURN_MULTI
			: PROGRAM_KPROBE_MULTI;

	if (!p->cookies)
		p->cookies = attaching_cookies(at, p->targets, p->n);
	return (struct batch){
		.at = at,
		.targets = p->targets,
		.places = by_symbol ? NULL : p->addrs,
		.symbols = by_symbol ? p->symbols : NULL,
		.cookies = p->cookies,
		.program = program,
		.link = link_functions,
	};
}

/* Divide @all into functions that have their name alone, and namesakes. */
static void divide_by_name(const struct attaching *at, const struct places *all,
			   struct places *alone, struct places *namesakes)
{
	struct u64_map n_named = {};

	for (size_t i = 0; i < all->n; i++)
		++*u64_map_put(&n_named, hash_bytes(all->symbols[i], strlen(all->symbols[i])), 0,
			       NULL);
	for (size_t i = 0; i < all->n; i++) {
		const char *symbol = all->symbols[i];
		bool is_alone = *u64_map_get(&n_named, hash_bytes(symbol, strlen(symbol))) == 1;

		places_add(is_alone ? alone : namesakes, at, all->targets[i]);
	}
	u64_map_fini(&n_named);
}

static void attach_by_addr(struct attaching *at, struct places *all)
{
	struct batch whole = make_kprobe_batch(at, all, false);

	if (all->n == 0 || batch_attach_whole(&whole, all->n))
		return;

	cleanup(places_fini) struct places alone, namesakes;
	places_init(&alone, all->n);
	places_init(&namesakes, all->n);
	divide_by_name(at, all, &alone, &namesakes);

	/* By symbol, the kernel picks the traceable function of that name. */
	struct batch by_symbol = make_kprobe_batch(at, &alone, true);
	struct batch by_addr = make_kprobe_batch(at, &alone, false);
	if (alone.n && !batch_attach_whole(&by_symbol, alone.n))
		batch_attach(&by_addr, alone.n);

	struct batch rest = make_kprobe_batch(at, &namesakes, false);
	batch_attach(&rest, namesakes.n);
}

void kprobe_multi_attach(struct attaching *at, const struct selection *chosen)
{
	cleanup(places_fini) struct places known, unknown;
	places_init(&known, chosen->n);
	places_init(&unknown, chosen->n);

	for (size_t i = 0; i < chosen->n; i++) {
		bool is_known = at->targets[chosen->items[i]].addr != 0;

		places_add(is_known ? &known : &unknown, at, chosen->items[i]);
	}
	attach_by_addr(at, &known);

	struct batch by_symbol = make_kprobe_batch(at, &unknown, true);
	batch_attach(&by_symbol, unknown.n);
}

/* --- perf events --- */

/*
 * A perf event on each CPU, whatever runs there. The programs filter: an event for a process would
 * have to be inherited by its threads, and those that exist need one each.
 */

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
