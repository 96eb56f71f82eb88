// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"
#include "match/private.h"

/* --- tracepoints --- */

static int add_tracepoint(struct matching *m, const char *category, const char *event,
			  struct error *e)
{
	char name[512];
	struct target t = {
		.kind = TARGET_TRACEPOINT,
		.name = name,
		.category = category,
		.event = event,
	};
	int err = host_tracepoint_id(m->host, category, event, &t.tracepoint_id, e);

	if (err)
		return err;
	(void)snprintf(name, sizeof(name), "%s:%s", category, event);
	return matching_add(m, &t, e);
}

/* A walk of the names of events. */
struct event_walk {
	struct matching *m;
	struct error *e;
	size_t n;
	struct near *near; /* NULL: add those that match */
};

static int visit_tracepoint(void *context, const char *category, const char *event)
{
	struct event_walk *walk = context;
	const struct probe_spec *spec = walk->m->spec;
	char name[512];
	int err;

	if (walk->near) {
		(void)snprintf(name, sizeof(name), "t:%s:%s", category, event);
		if (spec->kind != PROBE_KERNEL_FUNCTION || pattern_matches(spec->name, event))
			near_offer(walk->near, name);
		return 0;
	}
	if (!pattern_matches(spec->category, category) || !pattern_matches(spec->name, event))
		return 0;
	err = add_tracepoint(walk->m, category, event, walk->e);
	if (err == -ENOENT) {
		/* perf cannot use it. */
		log_debug("left out tracepoint %s:%s: it has no id", category, event);
		return 0;
	}
	walk->n++;
	return err;
}

void match_near_tracepoints(const struct probe_spec *spec, struct host *host, struct near *ret)
{
	const bool is_event = spec->kind == PROBE_KERNEL_FUNCTION;
	struct matching m = { .spec = spec };
	struct event_walk walk = { .m = &m, .near = ret };
	cleanup_free char *wanted =
		xasprintf("%s%s", is_event || spec->kind == PROBE_TRACEPOINT ? "" : "t:",
			  is_event ? pattern_text(spec->name) : spec->text);
	struct error none;

	near_init(ret, wanted);
	(void)!host_each_tracepoint(host, visit_tracepoint, &walk, &none);
}

static int explain_no_tracepoint(struct matching *m, struct error *e)
{
	struct near near;

	match_near_tracepoints(m->spec, m->host, &near);
	return error_set(e, -ENOENT, "no tracepoint matches '%s'%s", m->spec->text,
			 near_text(&near));
}

int match_tracepoints(struct matching *m, struct error *e)
{
	const char *category = pattern_literal(m->spec->category);
	const char *event = pattern_literal(m->spec->name);
	struct event_walk walk = { .m = m, .e = e };
	int err;

	/* The list is long, but one tracepoint is one file. */
	if (category && event) {
		err = add_tracepoint(m, category, event, e);
		return err == -ENOENT ? explain_no_tracepoint(m, e) : err;
	}
	err = host_each_tracepoint(m->host, visit_tracepoint, &walk, e);
	return err || walk.n ? err : explain_no_tracepoint(m, e);
}

/* --- perf events --- */

/* Perf's events, by the names that perf gives them, or by number. */

#define SOFTWARE(name) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##name
#define HARDWARE(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name
#define CACHE(cache, op, result)                                                             \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
				    PERF_COUNT_HW_CACHE_RESULT_##result << 16

/* Of two names for one event, the one that is listed first is the usual one. */
static const struct named_event {
	const char *name;
	uint32_t type;
	uint64_t config;
} named_events[] = {
	{ "cpu-clock", SOFTWARE(CPU_CLOCK) },
	{ "task-clock", SOFTWARE(TASK_CLOCK) },
	{ "page-faults", SOFTWARE(PAGE_FAULTS) },
	{ "faults", SOFTWARE(PAGE_FAULTS) },
	{ "minor-faults", SOFTWARE(PAGE_FAULTS_MIN) },
	{ "major-faults", SOFTWARE(PAGE_FAULTS_MAJ) },
	{ "context-switches", SOFTWARE(CONTEXT_SWITCHES) },
	{ "cs", SOFTWARE(CONTEXT_SWITCHES) },
	{ "cpu-migrations", SOFTWARE(CPU_MIGRATIONS) },
	{ "migrations", SOFTWARE(CPU_MIGRATIONS) },
	{ "alignment-faults", SOFTWARE(ALIGNMENT_FAULTS) },
	{ "emulation-faults", SOFTWARE(EMULATION_FAULTS) },
	{ "cgroup-switches", SOFTWARE(CGROUP_SWITCHES) },
	{ "cycles", HARDWARE(CPU_CYCLES) },
	{ "cpu-cycles", HARDWARE(CPU_CYCLES) },
	{ "instructions", HARDWARE(INSTRUCTIONS) },
	{ "cache-references", HARDWARE(CACHE_REFERENCES) },
	{ "cache-misses", HARDWARE(CACHE_MISSES) },
	{ "branches", HARDWARE(BRANCH_INSTRUCTIONS) },
	{ "branch-instructions", HARDWARE(BRANCH_INSTRUCTIONS) },
	{ "branch-misses", HARDWARE(BRANCH_MISSES) },
	{ "bus-cycles", HARDWARE(BUS_CYCLES) },
	{ "stalled-cycles-frontend", HARDWARE(STALLED_CYCLES_FRONTEND) },
	{ "stalled-cycles-backend", HARDWARE(STALLED_CYCLES_BACKEND) },
	{ "ref-cycles", HARDWARE(REF_CPU_CYCLES) },
	{ "L1-dcache-loads", CACHE(L1D, READ, ACCESS) },
	{ "L1-dcache-load-misses", CACHE(L1D, READ, MISS) },
	{ "L1-dcache-stores", CACHE(L1D, WRITE, ACCESS) },
	{ "L1-icache-load-misses", CACHE(L1I, READ, MISS) },
	{ "LLC-loads", CACHE(LL, READ, ACCESS) },
	{ "LLC-load-misses", CACHE(LL, READ, MISS) },
	{ "LLC-stores", CACHE(LL, WRITE, ACCESS) },
	{ "LLC-store-misses", CACHE(LL, WRITE, MISS) },
	{ "dTLB-loads", CACHE(DTLB, READ, ACCESS) },
	{ "dTLB-load-misses", CACHE(DTLB, READ, MISS) },
	{ "dTLB-stores", CACHE(DTLB, WRITE, ACCESS) },
	{ "dTLB-store-misses", CACHE(DTLB, WRITE, MISS) },
	{ "iTLB-loads", CACHE(ITLB, READ, ACCESS) },
	{ "iTLB-load-misses", CACHE(ITLB, READ, MISS) },
};

/* List the event @name, with the spec's modifiers. */
static int add_perf_event(struct matching *m, const char *name, uint32_t type, uint64_t config,
			  struct error *e)
{
	const struct probe_spec *spec = m->spec;
	const char *modifier = spec->exclude_kernel ? ":u" : spec->exclude_user ? ":k" : "";
	cleanup_free char *full = xasprintf("%s%s", name, modifier);
	const struct target t = {
		.kind = TARGET_PERF_EVENT,
		.name = full,
		.perf_type = type,
		.perf_config = config,
		.exclude_user = spec->exclude_user,
		.exclude_kernel = spec->exclude_kernel,
	};

	return matching_add(m, &t, e);
}

static const struct named_event *find_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(named_events); i++)
		if (strcmp(named_events[i].name, name) == 0)
			return &named_events[i];
	return NULL;
}

/* "r003c" */
static bool is_raw_event(const char *name, uint64_t *ret)
{
	const char *at = name + 1;

	return name[0] == 'r' && take_hex(&at, ret) && *at == '\0';
}

/* Add the events of the table that match, and that this machine can count. */
static int match_named_events(struct matching *m, struct error *e)
{
	struct near near;
	bool is_any = false;
	int err = 0;

	near_init(&near, pattern_text(m->spec->name));
	for (size_t i = 0; i < ARRAY_SIZE(named_events) && !err; i++) {
		const struct named_event *event = &named_events[i];

		near_offer(&near, event->name);
		if (!pattern_matches(m->spec->name, event->name) ||
		    (event->type != PERF_TYPE_SOFTWARE &&
		     !host_can_sample(event->type, event->config)))
			continue;
		is_any = true;
		err = add_perf_event(m, event->name, event->type, event->config, e);
	}
	if (err || is_any)
		return err;
	return error_set(e, -ENOENT,
			 "no perf event matches '%s'%s; -l 'e:*' lists them (a program e is "
			 "written as a path, ./e:FUNCTION)",
			 m->spec->text, near_text(&near));
}

/* An event that the user names in full may be refused later, with the reason. */
int match_perf_events(struct matching *m, struct error *e)
{
	const char *name = pattern_literal(m->spec->name);
	const struct named_event *named = name ? find_named(name) : NULL;
	uint64_t config;

	if (named)
		return add_perf_event(m, name, named->type, named->config, e);
	if (name && is_raw_event(name, &config))
		return add_perf_event(m, name, PERF_TYPE_RAW, config, e);
	return match_named_events(m, e);
}
