// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Choose a backend for each target. One table decides, by the kind of target and the kernel's
 * features.
 */
#include "attach/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/strbuf.h"

static bool has_backend(enum backend backend, const struct features *f)
{
	switch (backend) {
	case BACKEND_TRACEPOINT:
	case BACKEND_PERF_EVENT:
		return !f->no_events;
	case BACKEND_KPROBE_MULTI:
		return f->kprobe_multi;
	case BACKEND_KPROBE:
		return f->kprobe_pmu != 0 && !f->no_kprobes;
	/*
	 * The kernel misses a return where too many calls have not returned. Where it does not tell
	 * how many, they would be lost silently.
	 */
	case BACKEND_KRETPROBE_MULTI:
		return f->counts_missed && f->kprobe_multi;
	case BACKEND_KRETPROBE:
		return f->counts_missed && f->kprobe_pmu != 0 && !f->no_kprobes;
	case BACKEND_UPROBE_MULTI:
		return f->uprobe_multi;
	default:
		return f->uprobe_pmu != 0 && !f->no_uprobes;
	}
}

/* Best first. The first row of the target's kind whose backend the kernel has is used. */
static const struct {
	enum target_kind kind;
	enum backend backend;
} preference[] = {
	{ TARGET_TRACEPOINT, BACKEND_TRACEPOINT },
	{ TARGET_KERNEL_FUNCTION, BACKEND_KPROBE_MULTI },
	{ TARGET_KERNEL_FUNCTION, BACKEND_KPROBE },
	{ TARGET_USER_FUNCTION, BACKEND_UPROBE_MULTI },
	{ TARGET_USER_FUNCTION, BACKEND_UPROBE },
	{ TARGET_USDT, BACKEND_UPROBE_MULTI },
	{ TARGET_USDT, BACKEND_UPROBE },
	{ TARGET_PERF_EVENT, BACKEND_PERF_EVENT },
	{ TARGET_KERNEL_RETURN, BACKEND_KRETPROBE_MULTI },
	{ TARGET_KERNEL_RETURN, BACKEND_KRETPROBE },
	{ TARGET_USER_RETURN, BACKEND_UPROBE_MULTI },
	{ TARGET_USER_RETURN, BACKEND_UPROBE },
};

/* The backends whose links have many places. A run never has programs for both kinds of links. */
#define MULTI_BACKENDS \
	(1u << BACKEND_KPROBE_MULTI | 1u << BACKEND_UPROBE_MULTI | 1u << BACKEND_KRETPROBE_MULTI)

#define AT_USER_FUNCTION                                                        \
	{                                                                       \
		[ROLE_HIT] = PROGRAM_UPROBE, [ROLE_BEGIN] = PROGRAM_BEGIN_USER, \
		[ROLE_END] = PROGRAM_UNTIL_USER                                 \
	}

/* By kind and role. Where a role has none, as for hits. */
static const enum object_program programs[][ROLE_SWITCH + 1] = {
	[TARGET_TRACEPOINT] = { [ROLE_HIT] = PROGRAM_TRACEPOINT,
				[ROLE_BEGIN] = PROGRAM_BEGIN,
				[ROLE_END] = PROGRAM_UNTIL,
				[ROLE_SWITCH] = PROGRAM_SWITCH },
	[TARGET_KERNEL_FUNCTION] = { PROGRAM_KPROBE },
	[TARGET_USER_FUNCTION] = AT_USER_FUNCTION,
	[TARGET_USDT] = { PROGRAM_USDT },
	[TARGET_PERF_EVENT] = { PROGRAM_PERF_EVENT },
	[TARGET_KERNEL_RETURN] = { PROGRAM_KRETURN },
	[TARGET_USER_RETURN] = AT_USER_FUNCTION,
};

static const char *const backend_names[BACKEND_N] = {
	[BACKEND_TRACEPOINT] = "tracepoint",
	[BACKEND_KPROBE_MULTI] = "kprobe.multi",
	[BACKEND_KPROBE] = "kprobe",
	[BACKEND_UPROBE_MULTI] = "uprobe.multi",
	[BACKEND_UPROBE] = "uprobe",
	[BACKEND_PERF_EVENT] = "perf.event",
	[BACKEND_KRETPROBE_MULTI] = "kretprobe.multi",
	[BACKEND_KRETPROBE] = "kretprobe",
};

/* For messages: the spelling of a kind, and the name of its lack. */
static const struct {
	const char *spelling;
	const char *lack;
} kinds[] = {
	[TARGET_KERNEL_FUNCTION] = { "kernel functions (FUNC)",
				     "this kernel has no kprobes (CONFIG_KPROBES is not set)" },
	[TARGET_USER_FUNCTION] = { "user functions (LIB:FUNC)",
				   "this kernel has no uprobes (CONFIG_UPROBES is not set)" },
	[TARGET_USDT] = { "USDT probes (u:LIB:PROBE)",
			  "this kernel has no uprobes (CONFIG_UPROBES is not set)" },
	[TARGET_TRACEPOINT] = { "tracepoints (t:...)", "this kernel has no tracepoints" },
	[TARGET_PERF_EVENT] = { "perf events (e:...)", "this kernel has no perf events" },
	[TARGET_KERNEL_RETURN] = { "returns of kernel functions (r:FUNC)",
				   "this kernel has no kprobes (CONFIG_KPROBES is not set)" },
	[TARGET_USER_RETURN] = { "returns of user functions (r:LIB:FUNC)",
				 "this kernel has no uprobes (CONFIG_UPROBES is not set)" },
};

/* The order in which a message offers other kinds. */
static const enum target_kind offers[] = { TARGET_TRACEPOINT, TARGET_KERNEL_FUNCTION,
					   TARGET_USER_FUNCTION, TARGET_USDT };

const char *backend_name(enum backend backend)
{
	return backend_names[backend];
}

enum object_program plan_program(const struct target *target)
{
	const enum object_program *of_kind = programs[target->kind];

	return of_kind[of_kind[target->role] ? target->role : ROLE_HIT];
}

/*
 * Up to this many kernel functions get a kprobe each. A kprobe is the cheaper hit, and takes
 * functions that ftrace does not know. On newer kernels it refuses a name that several functions
 * have, where kprobe.multi silently takes one. Removing more of them would be slow.
 */
#define FEW_KERNEL_FUNCTIONS 4

static bool has_few_kernel_functions(const struct target_list *targets)
{
	size_t n = 0;

	for (size_t i = 0; i < targets->n; i++)
		n += targets->targets[i].kind == TARGET_KERNEL_FUNCTION;
	return n <= FEW_KERNEL_FUNCTIONS;
}

/* The best backend for @kind; BACKEND_N: none. */
static enum backend choose_backend(enum target_kind kind, const struct features *features,
				   unsigned avoid)
{
	for (size_t i = 0; i < ARRAY_SIZE(preference); i++) {
		if (preference[i].kind == kind && !(avoid & 1u << preference[i].backend) &&
		    has_backend(preference[i].backend, features))
			return preference[i].backend;
	}
	return BACKEND_N;
}

/* "tracepoints (t:...), user functions (LIB:FUNC) and USDT probes (u:LIB:PROBE) work" */
static void put_offers(struct strbuf *b, const struct features *features, unsigned avoid)
{
	const char *has[ARRAY_SIZE(offers)] = {};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(offers); i++) {
		if (choose_backend(offers[i], features, avoid) != BACKEND_N)
			has[n++] = kinds[offers[i]].spelling;
	}
	if (n == 0)
		strbuf_puts(b, "no other kind of event works");
	for (size_t i = 0; i < n; i++) {
		strbuf_puts(b, has[i]);
		if (i + 2 < n)
			strbuf_puts(b, ", ");
		else if (i + 2 == n)
			strbuf_puts(b, " and ");
		else
			strbuf_puts(b, " work");
	}
}

/* Why this user may not have a single probe of @kind. */
static const char *why_forbidden(enum target_kind kind, const struct features *features)
{
	switch (kind) {
	case TARGET_TRACEPOINT:
	case TARGET_PERF_EVENT:
		return features->no_events;
	case TARGET_KERNEL_FUNCTION:
	case TARGET_KERNEL_RETURN:
		return features->no_kprobes;
	default:
		return features->no_uprobes;
	}
}

/* Returns need more than kprobes: a kernel may have kprobes without them. */
static const char *what_lacks(enum target_kind kind, const struct features *permitted)
{
	if (kind == TARGET_KERNEL_RETURN &&
	    choose_backend(TARGET_KERNEL_FUNCTION, permitted, 0) != BACKEND_N)
		return "this kernel does not tell how many returns it missed (Linux 6.7 does)";
	return kinds[kind].lack;
}

static int refuse_target(const struct target *target, const struct features *features,
			 unsigned avoid, struct error *e)
{
	struct features permitted = *features;

	permitted.no_events = permitted.no_uprobes = permitted.no_kprobes = NULL;
	const char *lack = what_lacks(target->kind, &permitted);

	/*
	 * If there is a backend without @avoid, or with all permissions, the kernel does not lack
	 * it.
	 */
	if (choose_backend(target->kind, features, 0) != BACKEND_N)
		lack = "every backend for it is excluded (see --without)";
	else if (choose_backend(target->kind, &permitted, 0) != BACKEND_N)
		lack = why_forbidden(target->kind, features);

	cleanup_strbuf struct strbuf works = {};
	put_offers(&works, features, avoid);
	return error_set(e, -EOPNOTSUPP, "%s: %s; %s", target->name, lack, works.text);
}

int plan_make(const struct target_list *targets, const struct features *features, unsigned avoid,
	      struct plan *ret, struct error *e)
{
	struct plan plan = { .n = targets->n, .features = *features };
	enum backend chosen[ARRAY_SIZE(kinds)];

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		chosen[k] = choose_backend(k, features, avoid);
	if (has_backend(BACKEND_KPROBE, features) && !(avoid & 1u << BACKEND_KPROBE) &&
	    has_few_kernel_functions(targets))
		chosen[TARGET_KERNEL_FUNCTION] = BACKEND_KPROBE;

	/* Refuse before anything is allocated. */
	for (size_t i = 0; i < targets->n; i++) {
		const struct target *target = &targets->targets[i];

		if (chosen[target->kind] == BACKEND_N)
			return refuse_target(target, features, avoid, e);
		plan.programs |= 1u << plan_program(target);
		if (MULTI_BACKENDS >> chosen[target->kind] & 1)
			plan.multi |= 1u << plan_program(target);
	}
	plan.backends = xmalloc(plan.n ? plan.n : 1);
	for (size_t i = 0; i < plan.n; i++)
		plan.backends[i] = chosen[targets->targets[i].kind];
	*ret = plan;
	return 0;
}

bool plan_wants_addresses(const struct plan *plan, const struct target_list *targets)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct target *target = &targets->targets[i];

		if ((target->kind != TARGET_KERNEL_FUNCTION &&
		     target->kind != TARGET_KERNEL_RETURN) ||
		    target->addr)
			continue;
		if (plan->backends[i] == BACKEND_KPROBE || plan->backends[i] == BACKEND_KRETPROBE
			    ? !plan->features.refuses_namesakes
			    : target->is_unchecked)
			return true;
	}
	return false;
}

void plan_fini(struct plan *plan)
{
	free(plan->backends);
	*plan = (struct plan){};
}
