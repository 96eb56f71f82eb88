// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/setup.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "kernel/kernel_types.h"
#include "tool/run.h"

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

/* What the programs need of the kernel's BTF: KERNEL_MEMBERS, in this order, then BTF IDs. */
enum {
	I_MTIME_SEC = offsetof(struct member_offsets, i_mtime_sec) / sizeof(uint32_t),
	CAST_TYPE_ID = sizeof(struct member_offsets) / sizeof(uint32_t),
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
	[CAST_TYPE_ID] = { "timespec64", NULL }, /* it begins with a word */
	[CAST_CALL_ID] = { NULL, "bpf_rdonly_cast" },
	[PREEMPT_COUNT] = { NULL, "__preempt_count" },
	[PCPU_HOT] = { NULL, "pcpu_hot" },
	[DISABLE_STATE] = { "interrupt_disable_state", NULL },
};
/* clang-format on */

/* Before Linux 6.11 (3aa63a569c64), the time is in a struct timespec64. */
static int find_older_time(uint32_t at[N_WANTED], struct error *e)
{
	static const struct kernel_member times[] = { { "inode", "i_mtime" },
						      { "inode", "__i_mtime" } };
	uint32_t found[ARRAY_SIZE(times)];
	int err = kernel_types_read(KERNEL_BTF, times, ARRAY_SIZE(times), found, e);

	at[I_MTIME_SEC] = found[found[0] == NO_MEMBER];
	at[I_MTIME_SEC + 1] = at[I_MTIME_SEC] + 8;
	return err;
}

static int set_members(uint32_t at[N_WANTED], struct member_offsets *ret, struct error *e)
{
	int err = at[I_MTIME_SEC] == NO_MEMBER ? find_older_time(at, e) : 0;

	for (int i = 0; i < CAST_TYPE_ID && !err; i++) {
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
	o->btf_ids.preempt_count = id;
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
	o->btf_ids.cast_call = call;
	o->btf_ids.cast_type = type;
	o->config.loads_kernel = 1;
}

/* May a hit come in an interrupt, and do programs act differently there? */
static bool wants_context(const struct object_options *o)
{
	return o->config.anywhere && (o->config.mode != MODE_CALLS || o->config.own_tgid);
}

/* Find what the programs of @o read of the kernel, in one search of its BTF. */
static int find_in_kernel(const struct options *opt, struct object_options *o, struct error *e)
{
	const bool cast = o->config.kernel_tables && !(opt->avoid & AVOID_LOADS);
	const bool context = wants_context(o);
	const bool members = o->config.max_user_frames ||
			     o->programs & (1U << PROGRAM_NEW_TASK | 1U << PROGRAM_SWITCH);
	struct kernel_member wanted[N_WANTED] = {};
	uint32_t at[N_WANTED];
	int err;

	if (!members && !cast && !context)
		return 0;
	for (int i = 0; i < N_WANTED; i++)
		if (i < CAST_TYPE_ID ? members : i < PREEMPT_COUNT ? cast : context)
			wanted[i] = all_wanted[i];
	err = kernel_types_read(KERNEL_BTF, wanted, N_WANTED, at, e);
	if (!err && members)
		err = set_members(at, &o->config.at, e);
	if (!err && context)
		use_preempt_count(at, o);
	if (!err && cast)
		use_cast(at, o);
	return err;
}

/*
 * Walk by unwind tables. A child gets its parent's mappings in BPF (PROGRAM_NEW_TASK) if programs
 * know its PID and may read the kernel's memory.
 */
static void set_unwinding(const struct run *r, struct object_options *o)
{
	const char *lockdown = host_lockdown();
	const bool may_read = !lockdown || strcmp(lockdown, "confidentiality") != 0;

	if (r->opt->unwind == UNWIND_FP)
		return;
	o->config.unwind = 1;
	o->config.no_recent_rules = (r->opt->avoid & AVOID_RECENT_RULES) != 0;
	if (may_read)
		o->programs |= 1U << PROGRAM_RESERVED;
	if (may_read && !o->config.has_pidns)
		o->programs |= 1U << PROGRAM_NEW_TASK;
}

int setup_following(const struct run *r, struct object_options *o, struct error *e)
{
	const int err = find_in_kernel(r->opt, o, e);

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
	set_unwinding(r, o);
	return 0;
}

int setup_object(const struct run *r, struct object_options *ret, struct error *e)
{
	const struct options *opt = r->opt;
	struct trace_config *config = &ret->config;

	*ret = (struct object_options){
		.programs = r->plan.programs,
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
	if (getrandom(config->hash_seed, sizeof(config->hash_seed), 0) != sizeof(config->hash_seed))
		return error_errno(e, "get random numbers");
	config->hash_seed[0] |= 1;
	config->hash_seed[1] |= 1;
	return 0;
}

int setup_explain_load(const struct run *r, struct error *e)
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
