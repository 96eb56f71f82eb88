// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/kernel_types.h"

/* --- the settings that programs are loaded with --- */

/* A kernel stack may begin with this many frames of the tracing itself. */
#define MOST_MACHINERY 16

static int check_choice(const struct options *opt, struct error *e)
{
	uint64_t dev, ino;
	uint32_t n_cpus = 0;
	int err = 0;

	for (size_t i = 0; i < opt->pids.n; i++)
		if (!host_pid_exists(opt->pids.numbers[i]))
			return error_set(e, -ESRCH, "-p: no process %u", opt->pids.numbers[i]);
	for (size_t i = 0; i < opt->tids.n; i++)
		if (!host_tid_exists(opt->tids.numbers[i]))
			return error_set(e, -ESRCH, "-L: no thread %u", opt->tids.numbers[i]);
	if (opt->tids.n && !host_in_initial_pid_namespace(&dev, &ino))
		return error_set(
			e, -EOPNOTSUPP,
			"-L: a container's numbers of threads are not known to the kernel; "
			"choose the process with -p");
	if (opt->cpus.n)
		err = host_possible_cpus(&n_cpus, e);
	for (size_t i = 0; i < opt->cpus.n && !err; i++)
		if (opt->cpus.numbers[i] >= n_cpus)
			err = error_set(e, -ENXIO, "-c: this machine has no CPU %u",
					opt->cpus.numbers[i]);
	return err;
}

/* With depth 0, programs take no such stack. */
static void set_depths(struct trace_config *config, const struct options *opt)
{
	uint32_t depth = opt->max_depth ? (uint32_t)opt->max_depth : STACK_MAX_FRAMES;
	uint32_t kernel_depth = depth + MOST_MACHINERY + 1; /* one more shows a cut */
	uint32_t limit = host_max_stack();

	if (!opt->user_only) {
		config->max_kernel_frames =
			kernel_depth < SHORT_MAX_FRAMES ? kernel_depth : SHORT_MAX_FRAMES;
		config->kernel_limit = limit < SHORT_MAX_FRAMES ? limit : SHORT_MAX_FRAMES;
	}
	if (!opt->kernel_only)
		config->max_user_frames = depth;
}

static void set_filters(struct trace_config *config, const struct options *opt)
{
	uint64_t dev = 0, ino = 0;

	if (opt->pids.n == 1)
		config->tgid = opt->pids.numbers[0];
	config->has_tgids = opt->pids.n > 1;
	config->has_cpus = opt->cpus.n > 0;
	for (size_t i = 0; i < opt->cpus.n; i++)
		config->cpus[opt->cpus.numbers[i] / 64] |= 1ULL << (opt->cpus.numbers[i] % 64);
	config->no_idle = opt->tool == TOOL_PROFILE && !opt->include_idle;
	config->per_process = opt->per_process || opt->pids.n > 1;
	config->follow = opt->tids.n > 0; /* the threads in the map 'wanted', and no others */
	if (!opt->self && !opt->pids.n && !opt->tids.n && !opt->command)
		config->own_tgid = (uint32_t)getpid();
	config->max_events = opt->max_events;
	config->has_pidns = !host_in_initial_pid_namespace(&dev, &ino);
	config->pidns_dev = dev;
	config->pidns_ino = ino;
}

/* What the programs need of the kernel's BTF: KERNEL_MEMBERS, in this order, then others. */
enum {
	I_MTIME_SEC = offsetof(struct member_offsets, i_mtime_sec) / sizeof(uint32_t),
	OLD_TIME = sizeof(struct member_offsets) / sizeof(uint32_t),
	OLDER_TIME,
	CAST_TYPE_ID,
	CAST_CALL_ID,
	PREEMPT_COUNT,
	PCPU_HOT,
	DISABLE_STATE,
	N_WANTED
};

#define WANTED_MEMBER(structure, member) { #structure, #member },

/* clang-format off */
static const struct kernel_member all_wanted[N_WANTED] = {
	KERNEL_MEMBERS(WANTED_MEMBER)
	/* Before Linux 6.11 (3aa63a569c64), the time is in a struct timespec64. */
	[OLD_TIME] = { "inode", "__i_mtime" },
	[OLDER_TIME] = { "inode", "i_mtime" },
	[CAST_TYPE_ID] = { "timespec64", NULL }, /* it begins with a word */
	[CAST_CALL_ID] = { NULL, "bpf_rdonly_cast" },
	[PREEMPT_COUNT] = { NULL, "__preempt_count" },
	[PCPU_HOT] = { NULL, "pcpu_hot" },
	[DISABLE_STATE] = { "interrupt_disable_state", NULL },
};
/* clang-format on */

static int set_members(uint32_t at[N_WANTED], struct member_offsets *ret, struct error *e)
{
	int err = 0;

	if (at[I_MTIME_SEC] == NO_MEMBER) {
		at[I_MTIME_SEC] = at[at[OLD_TIME] == NO_MEMBER ? OLDER_TIME : OLD_TIME];
		at[I_MTIME_SEC + 1] = at[I_MTIME_SEC] + 8;
	}
	for (int i = 0; i < OLD_TIME && !err; i++) {
		const struct kernel_member *m = &all_wanted[i];

		if (at[i] != NO_MEMBER)
			continue;
		at[i] = 0; /* programs do without those of struct mm_struct */
		if (*m->type)
			err = error_set(e, -EOPNOTSUPP,
					"the kernel's BTF has no member %s of struct %s", m->name,
					m->type);
	}
	memcpy(ret, at, sizeof(*ret));
	return err;
}

/*
 * Use the kernel's preempt_count, its count of nested interrupts, if the programs may read it. From
 * Linux 6.2 to 6.14 another variable contained it (64701838bf05), behind current_task. The bits
 * (include/linux/preempt.h) moved up by eight when a count of disabled interrupts was inserted.
 */
static void use_preempt_count(const uint32_t at[N_WANTED], struct object_options *o)
{
	const bool is_hot = at[PCPU_HOT] != NO_MEMBER, is_moved = at[DISABLE_STATE] != NO_MEMBER;
	const uint32_t id = at[is_hot ? PCPU_HOT : PREEMPT_COUNT], offset = is_hot ? 8 : 0;

	if (id == NO_MEMBER || !features_has_variable(id, offset)) {
		log_debug("cannot detect hits in interrupts: programs cannot read the kernel's "
			  "preempt_count");
		return;
	}
	o->preempt_count = id;
	o->config.preempt_offset = offset;
	o->config.hardirq_mask = is_moved ? 0x0f000000 : 0x000f0000;
	o->config.nmi_mask = is_moved ? 0x10000000 : 0x00f00000;
}

/* Walk kernel stacks by loads, if the programs may. The helper that they use else takes longer. */
static void use_cast(const uint32_t at[N_WANTED], struct object_options *o)
{
	const uint32_t call = at[CAST_CALL_ID], type = at[CAST_TYPE_ID];

	if (call == NO_MEMBER || type == NO_MEMBER || !features_has_cast(call, type))
		return;
	o->cast_call = call;
	o->cast_type = type;
	o->config.loads_kernel = 1;
}

/* Find what the programs of @o read of the kernel, in one search of its BTF. */
static int find_in_kernel(const struct run *r, struct object_options *o, struct error *e)
{
	const bool cast = o->config.kernel_tables && !(r->opt->avoid & AVOID_LOADS);
	/* May a hit come in an interrupt, and do programs act differently there? */
	const bool context =
		o->config.anywhere && (o->config.mode != MODE_CALLS || o->config.own_tgid);
	const bool members = o->config.max_user_frames ||
			     o->programs & (1U << PROGRAM_NEW_TASK | 1U << PROGRAM_SWITCH);
	struct kernel_types *types;
	uint32_t at[N_WANTED];
	int err;

	if (!members && !cast && !context)
		return 0;
	err = host_kernel_types(r->host, &types, e);
	if (err)
		return err;
	kernel_types_find(types, all_wanted, N_WANTED, at);
	if (members)
		err = set_members(at, &o->config.at, e);
	if (!err && context)
		use_preempt_count(at, o);
	if (!err && cast)
		use_cast(at, o);
	return err;
}

/*
 * Add the programs and settings for lives of processes and for unwind tables. Call it after
 * tool_parts.set_up(), which may switch user stacks off. Errors: those of host_kernel_types();
 * -EOPNOTSUPP the kernel lacks a member that programs read.
 */
static int setup_following(const struct run *r, struct object_options *o, struct error *e)
{
	const char *lockdown = host_lockdown();
	const int err = find_in_kernel(r, o, e);

	if (err)
		return err;
	if (o->config.kernel_tables)
		log_debug("kernel stacks: read by %s",
			  o->config.loads_kernel ? "loads" : "a helper");
	if (!o->config.max_user_frames)
		return 0;
	if (!host_has_own_proc())
		log_warn("/proc is not mounted, or belongs to another PID namespace: cannot read "
			 "mappings, so user stacks are cut and few frames have names");
	o->programs |= 1U << PROGRAM_EXEC | 1U << PROGRAM_EXIT;
	o->config.unwind = !r->opt->unwind_by_fp;
	o->config.no_recent_rules = (r->opt->avoid & AVOID_RECENT_RULES) != 0;
	/* These two read the kernel's memory, which confidentiality denies. */
	if (!lockdown || strcmp(lockdown, "confidentiality") != 0)
		o->programs |=
			1U << PROGRAM_NEW_TASK | (o->config.unwind ? 1U << PROGRAM_RESERVED : 0);
	return 0;
}

/* Fill in @ret: programs, filters and depths. The tool then adds its own settings. */
static void setup_object(const struct run *r, struct object_options *ret)
{
	const struct options *opt = r->opt;
	struct trace_config *config = &ret->config;

	*ret = (struct object_options){
		.programs = r->plan.programs,
		.multi = r->plan.multi,
		.n_cpus = r->n_cpus,
		.max_tgids = opt->pids.n > 1 ? (uint32_t)opt->pids.n : 0,
	};
	set_depths(config, opt);
	set_filters(config, opt);
	if (r->command.pid) {
		config->follow = 1;
		config->command_tgid = (uint32_t)r->command.pid;
		ret->programs |= 1U << PROGRAM_NEW_TASK | 1U << PROGRAM_EXEC | 1U << PROGRAM_EXIT;
	}
	(void)!getrandom(config->hash_seed, sizeof(config->hash_seed), 0); /* so few never fail */
	config->hash_seed[0] |= 1;
	config->hash_seed[1] |= 1;
}

/*
 * @e says why the programs could not be loaded. Add that lockdown may be the reason, if it may.
 * Returns the code.
 */
static int setup_explain_load(const struct run *r, struct error *e)
{
	const char *level = host_lockdown();

	if (!level || (e->code != -EPERM && e->code != -EACCES && e->code != -EINVAL))
		return e->code;
	/* A program reads the new task's number in kernel memory: confidentiality denies that. */
	if (r->command.pid && strcmp(level, "confidentiality") == 0)
		return error_set(e, -EPERM,
				 "kernel lockdown (%s) does not let us follow the command's "
				 "processes; trace running processes with -p PID",
				 level);
	return error_within(e, "the kernel is locked down (%s)", level);
}

/* --- values --- */

/*
 * A beginning takes 48 bytes in the kernel's hash map besides key and value, and a bucket of 16. It
 * gets this part of --max-memory.
 */
#define BEGINNING_BYTES 128ULL
#define BEGINNINGS_SHARE 16
#define FEWEST_BEGINNINGS 256ULL
#define MOST_BEGINNINGS 65536ULL

_Static_assert(48 + 16 + sizeof(struct begun_key) + sizeof(struct beginning) <= BEGINNING_BYTES,
	       "budget");

/*
 * Set what the programs need for pairs. Returns how many of @bytes of memory the beginnings take,
 * which is 0 without --elapsed.
 */
static uint64_t set_up_pairs(const struct values *v, uint64_t bytes, struct object_options *o)
{
	uint64_t n = bytes / BEGINNINGS_SHARE / BEGINNING_BYTES;

	if (!v->n_groups)
		return 0;
	n = n < FEWEST_BEGINNINGS ? FEWEST_BEGINNINGS : n > MOST_BEGINNINGS ? MOST_BEGINNINGS : n;
	o->config.n_groups = v->n_groups;
	o->config.switch_pair = v->switch_pair;
	o->programs |= 1U << PROGRAM_EXIT;
	o->max_begun = (uint32_t)n;
	return n * BEGINNING_BYTES;
}

int set_up_values(struct run *r, uint64_t *bytes, struct object_options *o, struct error *e)
{
	const struct values *v = &r->values;

	*bytes -= set_up_pairs(v, *bytes, o);
	if (!v->of->sum)
		return 0;
	o->value = &r->value_code;
	value_code_fini(&r->value_code);
	return value_code_make(v->codes, v->n_numbers, v->n_numbers > 1 && v->has_tracepoint,
			       &r->value_code, e);
}

/* --- plan, load, attach --- */

unsigned patterns_need_features(const struct patterns *p)
{
	unsigned groups = 0;

	for (size_t i = 0; i < p->n_specs; i++) {
		const struct probe_spec *spec = &p->specs[i];

		if (spec_is_in_file(spec))
			groups |= FEATURES_USER;
		if (spec->kind == PROBE_KERNEL_FUNCTION)
			groups |= FEATURES_KERNEL_FUNCTION |
				  (spec->is_return ? FEATURES_KERNEL_RETURN : 0U);
	}
	return groups;
}

#define MOST_DESCRIBED 1000

/*
 * To walk the stack, a hit calls kernel functions. The more of them are traced, the more it costs.
 * With all of them traced, a system call takes seconds.
 */
#define MANY_KERNEL_EVENTS 1000

static int make_plan(struct run *r, struct error *e)
{
	const int err = values_choose(&r->values, r->host, &r->targets, e);

	if (err)
		return err;
	r->counts_hits = r->opt->debug && !r->values.n_numbers && !r->tool->counts_targets &&
			 r->targets.n <= MOST_DESCRIBED;
	return plan_make(&r->targets, &r->features, r->opt->avoid, &r->plan, e);
}

/* Match and plan once more, with addresses. */
static int plan_again(struct run *r, struct error *e)
{
	target_list_fini(&r->targets);
	plan_fini(&r->plan);

	int err = patterns_match(&r->opt->patterns, r->host, MATCH_ADDRESSES, &r->targets, e);

	return err ? err : make_plan(r, e);
}

static void find_features(struct run *r)
{
	struct features *features = &r->features;
	unsigned groups = patterns_need_features(&r->opt->patterns);

	features->kprobe_pmu = host_pmu_type("kprobe");
	features->uprobe_pmu = host_pmu_type("uprobe");
	features->no_events = features->no_kprobes = host_no_perf_events();
	features->no_uprobes = host_no_perf_uprobes(features->uprobe_pmu);
	if (groups & FEATURES_KERNEL_FUNCTION && features->kprobe_pmu) {
		features->no_kprobes = host_no_perf_kprobes(features->kprobe_pmu);
		features->refuses_namesakes = host_refuses_namesakes(features->kprobe_pmu);
	}
	if (features->no_events)
		groups = FEATURES_ALL; /* to find out what still works */
	features_probe(features, groups);
}

/* No backend is left, or the name in question, which was not looked up, is no function's. */
static int explain_no_plan(struct run *r, struct error *e)
{
	cleanup(target_list_fini) struct target_list found = {};
	struct error why;

	if (patterns_match(&r->opt->patterns, r->host, MATCH_ADDRESSES, &found, &why) == -ENOENT)
		*e = why;
	return e->code;
}

static int make_best_plan(struct run *r, struct error *e)
{
	int err = make_plan(r, e);

	if (err == -EOPNOTSUPP)
		return explain_no_plan(r, e);
	if (err || !plan_wants_addresses(&r->plan, &r->targets))
		return err;
	return plan_again(r, e);
}

/* What the kinds of targets tell about their hits. */
struct event_facts {
	size_t n_kernel; /* events of the kernel */
	/*
	 * A hit may come where interrupts are off, or after the thread has released its memory.
	 * Hits of system calls and of user code do not.
	 */
	bool anywhere;
	bool has_vectors; /* tracepoints in interrupts that BPF programs can raise (irq_work) */
};

static struct event_facts facts_of(const struct target_list *targets)
{
	struct event_facts ret = {};

	for (size_t i = 0; i < targets->n; i++) {
		const struct target *t = &targets->targets[i];
		const bool is_point = t->kind == TARGET_TRACEPOINT;
		const bool is_kernel =
			is_point || target_is_kernel_function(t) || t->kind == TARGET_PERF_EVENT;

		ret.n_kernel += is_kernel;
		ret.anywhere |= is_kernel && !text_begins_with(t->name, "syscalls:") &&
				!text_begins_with(t->name, "raw_syscalls:");
		ret.has_vectors |= is_point && text_begins_with(t->name, "irq_vectors:");
	}
	return ret;
}

bool probing_hits_report(const struct run *r)
{
	return patterns_need_features(&r->opt->patterns) & FEATURES_USER ||
	       facts_of(&r->targets).n_kernel > MANY_KERNEL_EVENTS;
}

int probing_load(struct run *r, struct error *e)
{
	const struct event_facts facts = facts_of(&r->targets);
	struct object_options options;
	int err = host_possible_cpus(&r->n_cpus, e);

	if (err)
		return err;
	setup_object(r, &options);
	err = r->tool->set_up(r, &options, e);
	if (err)
		return err;
	options.config.by_cookie =
		(r->tool->counts_targets || r->counts_hits ? r->targets.n : r->values.n_numbers) >
		1;
	if (r->counts_hits)
		options.config.calls_per_cpu = calls_per_cpu((uint32_t)r->targets.n);
	options.config.anywhere = facts.anywhere;
	if (facts.n_kernel && !r->opt->kernel_by_helper)
		kernel_stacks_set_up(&r->kernel_stacks, r->opt->avoid & AVOID_TRUST, &options);
	err = setup_following(r, &options, e);
	if (err)
		return err;
	/*
	 * On PREEMPT_RT, the kernel's allocator refills in a thread, as late as with interrupts
	 * off.
	 */
	options.config.anywhere |= host_is_preempt_rt();
	options.config.paces_tasks = facts.n_kernel > MANY_KERNEL_EVENTS;
	options.config.asks_with_care = facts.has_vectors && !options.config.hardirq_mask;
	err = object_load(&options, &r->object, e);
	if (err)
		return setup_explain_load(r, e);
	if (r->opt->tids.n)
		return object_add_wanted(r->object, r->opt->tids.numbers, r->opt->tids.n, e);
	if (r->opt->pids.n > 1)
		err = object_add_wanted(r->object, r->opt->pids.numbers, r->opt->pids.n, e);
	return err;
}

static void tell_plan(const struct run *r)
{
	size_t n[BACKEND_N] = {};

	for (size_t i = 0; i < r->plan.n; i++)
		n[r->plan.backends[i]]++;
	for (int b = 0; b < BACKEND_N; b++)
		if (n[b])
			log_debug("%zu targets: backend %s", n[b], backend_name((enum backend)b));
	for (size_t i = 0; i < r->targets.n; i++) {
		cleanup_strbuf struct strbuf text = {};

		put_target(&r->targets.targets[i], &text);
		log_debug("matched: %s", text.text);
	}
}

int probing_prepare(struct run *r, struct error *e)
{
	const char *missing = host_missing_capability();
	int err;

	if (missing)
		return error_set(e, -EPERM,
				 "tracing needs root, or CAP_BPF and CAP_PERFMON: %s is missing",
				 missing);
	err = features_check_bpf(e);
	if (!err)
		err = check_choice(r->opt, e);
	if (err)
		return err;
	err = features_require(e);
	if (err)
		return err;
	find_features(r);
	err = patterns_match(&r->opt->patterns, r->host, MATCH_PATTERNS, &r->targets, e);
	if (!err)
		err = make_best_plan(r, e);
	if (!err)
		tell_plan(r);
	return err;
}

/*
 * Fail: the kernel does not know the function @name, or, if that is NULL, the first one that a
 * pattern names in full. The kernel's lists are long, so the run has not looked up such a function.
 * All other kinds of event fail in this case, too.
 */
static int explain_unknown(const struct run *r, const char *name, struct error *e)
{
	for (size_t i = 0; i < r->opt->patterns.n; i++) {
		const struct probe_spec *spec = &r->opt->patterns.specs[i];
		const char *literal =
			spec->kind == PROBE_KERNEL_FUNCTION ? pattern_literal(spec->name) : NULL;

		if (literal && (!name || strcmp(name, literal) == 0))
			return match_explain_unknown(spec, r->host, e);
	}
	return name ? 0 : e->code;
}

/* Warn how many targets were refused. With --debug, print which, and why. */
static int judge_refusals(const struct run *r, struct error *e)
{
	size_t n;
	const struct refusal *refusals = attachment_refusals(r->attachment, &n);

	for (size_t i = 0; i < n; i++) {
		const struct target *target = refusals[i].target;

		log_debug("refused: %s: %s", target->name, refusals[i].reason);
		if (target->role == ROLE_END)
			return error_set(e, refusals[i].code, "--elapsed: attach %s: %s",
					 target->name, refusals[i].reason);
		if (refusals[i].code == -ENOENT && target_is_kernel_function(target) &&
		    explain_unknown(r, target->name, e))
			return e->code;
	}
	if (n)
		log_warn("%zu of %zu could not be traced%s", n, r->targets.n,
			 log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
	return 0;
}

static bool is_ambiguous(const struct run *r, int err)
{
	const struct refusal *refusals;
	size_t n;

	if (!r->attachment)
		return err == -EADDRNOTAVAIL;
	refusals = attachment_refusals(r->attachment, &n);
	while (n > 0 && refusals[n - 1].code != -EADDRNOTAVAIL)
		n--;
	return n > 0;
}

static int attach_targets(struct run *r, struct error *e)
{
	const struct attach_scope scope = {
		.pids = r->opt->pids.numbers,
		.n_pids = r->opt->pids.n,
		.numbers = r->values.numbers, /* NULL: a target's index */
		.period = r->opt->period,
		.frequency = r->opt->frequency,
		.cpus = r->opt->cpus.numbers,
		.n_cpus = r->opt->cpus.n,
		.n_possible_cpus = r->n_cpus,
	};

	return attach_all(&r->targets, &r->plan, r->object, &scope, &r->attachment, e);
}

/*
 * Several functions have the same name: find their addresses, and attach by those. The object has
 * room for its targets at the time of loading, and now there are more.
 */
static int attach_namesakes(struct run *r, struct error *e)
{
	int err;

	descriptors_release(r->held_files, r->n_held_files); /* detaching needs some */
	attachment_freep(&r->attachment);
	object_freep(&r->object);
	r->n_held_files = descriptors_hold(r->held_files, FILES_OF_REST);
	err = plan_again(r, e);
	if (!err)
		err = probing_load(r, e);
	return err ? err : attach_targets(r, e);
}

int probing_attach(struct run *r, struct error *e)
{
	int err = attach_targets(r, e);

	if (is_ambiguous(r, err))
		err = attach_namesakes(r, e);
	if (err == -ENOENT)
		return explain_unknown(r, NULL, e);
	return err ? err : judge_refusals(r, e);
}

void probing_describe(const struct run *r)
{
	struct calls *calls;
	const uint64_t *hits;

	if (!r->counts_hits)
		return;
	calls = calls_new(r->object, r->targets.n, r->n_cpus);
	hits = calls_read(calls);
	for (size_t i = 0; i < r->targets.n; i++) {
		cleanup_strbuf struct strbuf text = {};

		put_target(&r->targets.targets[i], &text);
		log_debug("hits of %s: %llu", text.text, (unsigned long long)hits[i]);
	}
	calls_free(calls);
}

/* Between two looks at perf events. The first one comes soon. */
#define SAMPLES_NS NS_PER_S
#define FIRST_SAMPLES_NS (NS_PER_S / 10)
/* Of a hit, when none was measured: perhaps nothing that is wanted runs. */
#define ASSUMED_PRICE_NS 10000

static void pace_samples(struct run *r)
{
	struct pacing *p = &r->pacing;
	const double price = hits_cost_ns(r, &p->cost_seen);
	uint64_t period_ns, wanted_ns;

	if (price > 0)
		p->price_ns = price;
	else if (!p->price_ns && !r->tool->counts_targets)
		p->price_ns = ASSUMED_PRICE_NS;
	if (!attachment_pace(r->attachment, (uint64_t)p->price_ns, &period_ns, &wanted_ns) ||
	    p->is_slowness_told)
		return;
	log_warn("%llu samples a second would take more than a quarter of a CPU: there are %llu, "
		 "and the others count as lost",
		 NS_PER_S / wanted_ns, NS_PER_S / period_ns);
	p->is_slowness_told = true;
}

uint64_t probing_watch_samples(struct run *r)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct pacing *p = &r->pacing;
	uint32_t n;

	if (!p->due) /* they have just begun */
		p->due = samples_read(r->attachment).n ? now + FIRST_SAMPLES_NS : UINT64_MAX;
	if (now < p->due)
		return p->due;
	p->due = now + SAMPLES_NS;
	pace_samples(r);
	n = attach_new_cpus(r->attachment);
	if (n)
		log_warn("CPUs have come online, or the machine was suspended: they are sampled "
			 "from now on, a second late at most (%u perf events)",
			 n);
	return p->due;
}
