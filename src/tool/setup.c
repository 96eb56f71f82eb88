// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/setup.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/members.h"

/* A kernel stack may begin with this many frames of the tracing itself. */
#define MOST_MACHINERY 16

int setup_check(const struct options *opt, struct error *e)
{
	uint64_t dev, ino;

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
	for (size_t i = 0; i < opt->cpus.n; i++)
		if (!host_cpu_is_possible(opt->cpus.numbers[i]))
			return error_set(e, -ENXIO, "-c: this machine has no CPU %u",
					 opt->cpus.numbers[i]);
	return 0;
}

void setup_features(struct features *features, struct host *host, unsigned groups)
{
	struct error none;

	if (host_pmu_type("kprobe", &features->kprobe_pmu, &none))
		features->kprobe_pmu = 0;
	if (host_pmu_type("uprobe", &features->uprobe_pmu, &none))
		features->uprobe_pmu = 0;
	features->no_events = features->no_kprobes = host_no_perf_events();
	features->no_uprobes = host_no_perf_uprobes(features->uprobe_pmu);
	if (groups & FEATURES_USER)
		features->uprobe_event = host_may_define_uprobes(host);
	if (groups & FEATURES_KERNEL_FUNCTION && features->kprobe_pmu) {
		features->no_kprobes = host_no_perf_kprobes(features->kprobe_pmu);
		features->refuses_namesakes = host_refuses_namesakes(features->kprobe_pmu);
	}
	if (features->no_events)
		groups = FEATURES_ALL; /* to find out what still works */
	features_probe(features, groups);
}

static int set_seeds(struct trace_config *config, struct error *e)
{
	if (getrandom(config->hash_seed, sizeof(config->hash_seed), 0) != sizeof(config->hash_seed))
		return error_errno(e, "get random numbers");
	config->hash_seed[0] |= 1;
	config->hash_seed[1] |= 1;
	return 0;
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
	config->follow = opt->tids.n > 0; /* the threads in the map 'tasks', and no others */
	if (!opt->self && !opt->pids.n && !opt->tids.n && !opt->command)
		config->own_tgid = (uint32_t)getpid();
	config->max_events = opt->max_events;
	config->has_pidns = !host_in_initial_pid_namespace(&dev, &ino);
	config->pidns_dev = dev;
	config->pidns_ino = ino;
}

/*
 * Use task_newtask: sched_process_fork does not report threads that the kernel makes for a process
 * (io_uring's).
 */
static int set_command_following(struct object_options *o, struct host *host, uint32_t tgid,
				 struct error *e)
{
	int err = host_tracepoint_field(host, "task", "task_newtask", "pid",
					&o->config.fork_child_offset, e);

	if (!err)
		err = host_tracepoint_field(host, "sched", "sched_process_exec", "old_pid",
					    &o->config.exec_old_offset, e);
	o->config.follow = 1;
	o->config.command_tgid = tgid;
	o->programs |= 1U << PROGRAM_FORK | 1U << PROGRAM_EXEC | 1U << PROGRAM_EXIT;
	return err;
}

/* Use the kernel's count of nested interrupts, if the programs may read it. */
static void use_preempt_count(const struct context_offsets *context, struct object_options *o)
{
	if (!context->variable || !features_has_variable(context->variable, context->offset)) {
		log_debug("cannot detect hits in interrupts: programs cannot read the kernel's "
			  "preempt_count");
		return;
	}
	o->btf_ids.preempt_count = context->variable;
	o->config.preempt_offset = context->offset;
	o->config.hardirq_mask = context->hardirq_mask;
	o->config.nmi_mask = context->nmi_mask;
}

/* Walk kernel stacks by loads, if the programs may. The helper that they use else takes longer. */
static void use_cast(const struct cast_ids *cast, struct object_options *o)
{
	if (!cast->call || !features_has_cast(cast->call, cast->type))
		return;
	o->btf_ids.cast_call = cast->call;
	o->btf_ids.cast_type = cast->type;
	o->config.loads_kernel = 1;
}

/* Find the members of kernel structures that programs read. */
static void find_members(struct object_options *o, struct wanted_members wanted,
			 struct vma_offsets *ret)
{
	struct kernel_members members;
	struct error e;

	if (kernel_members_read(wanted, &members, &e)) {
		log_debug("cannot look up mappings in the kernel, nor detect hits in interrupts: "
			  "%s",
			  e.text);
		return;
	}
	if (wanted.context)
		use_preempt_count(&members.context, o);
	if (wanted.cast)
		use_cast(&members.cast, o);
	*ret = members.vma;
}

/*
 * Walk by unwind tables. A child gets its parent's mappings in BPF (PROGRAM_BIRTH) if programs know
 * its PID and may read the kernel's memory.
 */
static void set_unwinding(struct object_options *o, const struct setup *setup)
{
	const char *lockdown = host_lockdown();
	const bool may_read = !lockdown || strcmp(lockdown, "confidentiality") != 0;

	if (setup->options->unwind == UNWIND_FP)
		return;
	o->config.unwind = 1;
	o->config.no_recent_rules = (setup->options->avoid & AVOID_RECENT_RULES) != 0;
	o->config.asks_kernel = o->config.vma.is_known;
	if (may_read)
		o->programs |= 1U << PROGRAM_RESERVED;
	if (may_read && o->config.vma.is_known && !o->config.has_pidns)
		o->programs |= 1U << PROGRAM_BIRTH;
}

/* May a hit come in an interrupt, and do programs act differently there? */
static bool wants_context(const struct object_options *o)
{
	return o->config.anywhere && (o->config.mode != MODE_CALLS || o->config.own_tgid);
}

void setup_following(const struct setup *setup, struct object_options *o)
{
	struct vma_offsets vma = {};

	const struct wanted_members wanted = {
		.vma = o->config.max_user_frames,
		.context = wants_context(o),
		.cast = o->config.kernel_tables && !(setup->options->avoid & AVOID_LOADS),
	};

	if (wanted.vma || wanted.context || wanted.cast)
		find_members(o, wanted, &vma);
	if (o->config.kernel_tables)
		log_debug("kernel stacks: read by %s",
			  o->config.loads_kernel ? "loads" : "a helper");
	if (!o->config.max_user_frames)
		return;
	if (!host_has_own_proc())
		log_warn("/proc is not mounted, or belongs to another PID namespace: cannot read "
			 "mappings, so user stacks are cut and few frames have names");
	o->config.has_lives = 1;
	o->programs |= 1U << PROGRAM_PROGRAM | 1U << PROGRAM_END;
	o->config.vma = vma;
	set_unwinding(o, setup);
}

int setup_object(const struct setup *setup, struct host *host, struct object_options *ret,
		 struct error *e)
{
	const struct options *opt = setup->options;
	struct trace_config *config = &ret->config;

	*ret = (struct object_options){
		.programs = setup->plan->programs,
		.n_cpus = setup->n_cpus,
		.max_tgids = opt->pids.n > 1 ? (uint32_t)opt->pids.n : 0,
	};
	set_depths(config, opt);
	set_filters(config, opt);

	int err = set_seeds(config, e);

	if (!err && setup->command_tgid)
		err = set_command_following(ret, host, setup->command_tgid, e);
	return err;
}

int setup_explain_load(bool has_command, struct error *e)
{
	const char *level = host_lockdown();

	if (!level || (e->code != -EPERM && e->code != -EACCES && e->code != -EINVAL))
		return e->code;
	/*
	 * Programs read a tracepoint's record, which is kernel memory. Lockdown for confidentiality
	 * denies that.
	 */
	if (has_command && strcmp(level, "confidentiality") == 0)
		return error_set(e, -EPERM,
				 "kernel lockdown (%s) does not let us follow the command's "
				 "processes; trace running processes with -p PID",
				 level);
	return error_within(e, "the kernel is locked down (%s)", level);
}
