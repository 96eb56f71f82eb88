#include "tool/setup.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/kernel_types.h"

/* A kernel stack may begin with this many frames of the tracing itself. */
#define MOST_MACHINERY 16

int setup_check(const struct options *opt, struct error *e)
{
	for (size_t i = 0; i < opt->pids.n; i++)
		if (!host_pid_exists(opt->pids.numbers[i]))
			return error_set(e, -ESRCH, "-p: no process %u", opt->pids.numbers[i]);
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
		groups = FEATURES_ALL; /* what works without them is to be said */
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

/* Depth 0 means that no such stack is taken. */
static void set_depths(struct trace_config *config, const struct options *opt,
		       const struct features *features)
{
	uint32_t depth = opt->max_depth ? (uint32_t)opt->max_depth : STACK_MAX_FRAMES;
	uint32_t kernel_depth = depth + MOST_MACHINERY + 1; /* one more: is it whole? */
	uint32_t limit = host_max_stack();

	if (!opt->user_only) {
		config->max_kernel_frames =
			kernel_depth < SHORT_MAX_FRAMES ? kernel_depth : SHORT_MAX_FRAMES;
		config->kernel_limit = limit < SHORT_MAX_FRAMES ? limit : SHORT_MAX_FRAMES;
	}
	if (!opt->kernel_only)
		config->max_user_frames = depth;
	config->has_task_regs = features->task_regs;
	config->has_loop = features->loop;
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
	config->per_process = opt->per_process || opt->pids.n > 1;
	if (!opt->self && !opt->pids.n && !opt->command)
		config->own_tgid = (uint32_t)getpid();
	config->max_events = opt->max_events;
	config->has_pidns = !host_in_initial_pid_namespace(&dev, &ino);
	config->pidns_dev = dev;
	config->pidns_ino = ino;
}

/* Of threads that the kernel makes for a process (io_uring's) sched_process_fork does not tell. */
static int follow(struct object_options *o, struct host *host, uint32_t tgid, struct error *e)
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

/* Where the kernel has what tells which file is mapped. */
enum {
	PROT,
	OPS,
	PGOFF,
	FILE_OF,
	INODE,
	SB,
	INO,
	MTIME,
	MTIME_6_6,
	MTIME_6_11,
	NS_6_11,
	SIZE,
	DEV,
	TGID,
	MM,
	VMA_MEMBERS,
	MM_UNNAMED = VMA_MEMBERS,
	END_CODE,
	PREEMPT_COUNT,
	PREEMPT_COUNT_6_2,
	HARDIRQ_DISABLE,
	MEMBERS
};

static const struct kernel_member members[MEMBERS] = {
	[PROT] = { "vm_area_struct", "vm_page_prot" },
	[OPS] = { "vm_area_struct", "vm_ops" },
	[PGOFF] = { "vm_area_struct", "vm_pgoff" },
	[FILE_OF] = { "vm_area_struct", "vm_file" },
	[INODE] = { "file", "f_inode" },
	[SB] = { "inode", "i_sb" },
	[INO] = { "inode", "i_ino" },
	[MTIME] = { "inode", "i_mtime" },
	[MTIME_6_6] = { "inode", "__i_mtime" },    /* Linux commit 12cd44023651 */
	[MTIME_6_11] = { "inode", "i_mtime_sec" }, /* 3aa63a569c64 */
	[NS_6_11] = { "inode", "i_mtime_nsec" },
	[SIZE] = { "inode", "i_size" },
	[DEV] = { "super_block", "s_dev" },
	[TGID] = { "task_struct", "tgid" },
	[MM] = { "task_struct", "mm" },
	[MM_UNNAMED] = { "mm_struct", "" }, /* nearly all of it */
	[END_CODE] = { "", "end_code" },
	[PREEMPT_COUNT] = { NULL, "__preempt_count" },
	[PREEMPT_COUNT_6_2] = { NULL, "pcpu_hot" }, /* until 6.14; Linux commit 64701838bf05 */
	[HARDIRQ_DISABLE] = { "interrupt_disable_state", "flags" }, /* counted in preempt_count */
};

/*
 * Where the kernel counts nested interrupts: include/linux/preempt.h. The bits moved up
 * by eight when a count of interrupts disabled came in between.
 */
static void set_context(const uint32_t at[MEMBERS], struct object_options *o)
{
	const bool is_hot = at[PREEMPT_COUNT_6_2] != NO_MEMBER;
	const bool is_moved = at[HARDIRQ_DISABLE] != NO_MEMBER;

	const uint32_t id = is_hot ? at[PREEMPT_COUNT_6_2] : at[PREEMPT_COUNT];
	const uint32_t offset = is_hot ? 8 : 0; /* behind current_task */

	if (id == NO_MEMBER || !features_has_variable(id, offset)) {
		log_debug("programs cannot tell in which context a hit stands: the kernel does not "
			  "give them its preempt_count");
		return;
	}
	o->preempt_count_id = id;
	o->config.preempt_offset = offset;
	o->config.hardirq_mask = is_moved ? 0x0f000000 : 0x000f0000;
	o->config.nmi_mask = is_moved ? 0x10000000 : 0x00f00000;
}

/*
 * Find the offsets by which programs ask the kernel for a mapping that is not known yet. Where it
 * @has_context, find that of a hit's context, too, which lies at the end of the kernel's BTF.
 */
static void find_members(struct object_options *o, bool has_context, struct vma_offsets *ret)
{
	uint32_t at[MEMBERS];
	struct error e;

	if (kernel_types_read(KERNEL_BTF, members, has_context ? MEMBERS : VMA_MEMBERS, at, &e)) {
		log_debug("programs cannot ask the kernel for mappings, nor for a hit's context: "
			  "%s",
			  e.text);
		return;
	}
	if (has_context)
		set_context(at, o);
	if (at[MTIME] == NO_MEMBER)
		at[MTIME] = at[MTIME_6_6];
	if (at[MTIME] == NO_MEMBER)
		at[MTIME] = at[MTIME_6_11];
	else
		at[NS_6_11] = at[MTIME] + 8; /* struct timespec64 */
	*ret = (struct vma_offsets){
		.is_known = 1,
		.vm_flags = at[PROT] + 8, /* behind it, since Linux 6.3 in a union (1c71222e5f23) */
		.vm_ops = at[OPS],
		.vm_pgoff = at[PGOFF],
		.vm_file = at[FILE_OF],
		.f_inode = at[INODE],
		.i_sb = at[SB],
		.i_ino = at[INO],
		.i_size = at[SIZE],
		.i_mtime = at[MTIME],
		.i_mtime_ns = at[NS_6_11],
		.s_dev = at[DEV],
		.tgid = at[TGID],
		.mm = at[MM],
	};
	if (has_context && at[MM_UNNAMED] != NO_MEMBER && at[END_CODE] != NO_MEMBER)
		ret->end_code = at[MM_UNNAMED] + at[END_CODE];
	for (size_t i = 0; i < VMA_MEMBERS; i++)
		if (at[i] == NO_MEMBER && i != MTIME_6_6 && i != MTIME_6_11)
			ret->is_known = 0;
}

/*
 * By tables, as far as the kernel can. Children are told what they have mapped where their PIDs are
 * known, and the kernel's memory may be read.
 */
static void set_unwinding(struct object_options *o, const struct setup *setup)
{
	const struct features *features = setup->features;
	const char *lockdown = host_lockdown();
	const bool may_read = !lockdown || strcmp(lockdown, "confidentiality") != 0;

	if (setup->options->unwind == UNWIND_FP)
		return;
	if (!features->task_regs) {
		log_warn("user stacks are walked by frame pointers: unwind tables need Linux 5.15 "
			 "and its BTF");
		return;
	}
	o->config.unwind = 1;
	o->config.no_recent_rules = (setup->options->avoid & AVOID_RECENT_RULES) != 0;
	o->config.asks_kernel = o->config.vma.is_known && features->loop; /* as old as that */
	if (may_read)
		o->programs |= 1U << PROGRAM_RESERVED;
	if (may_read && o->config.vma.is_known && !o->config.has_pidns)
		o->programs |= 1U << PROGRAM_BIRTH;
}

/* Does it matter to programs whether a hit stands in an interrupt, and may one? */
static bool wants_context(const struct object_options *o)
{
	return o->config.anywhere && (o->config.mode != MODE_CALLS || o->config.own_tgid);
}

void setup_following(const struct setup *setup, struct object_options *o)
{
	struct vma_offsets vma = {};

	const bool has_context = wants_context(o);

	if (has_context || (o->config.max_user_frames && setup->options->unwind != UNWIND_FP))
		find_members(o, has_context, &vma);
	if (!o->config.max_user_frames)
		return;
	if (!host_has_own_proc())
		log_warn("/proc is not mounted, or is another PID namespace's: what processes have "
			 "mapped cannot be read, so user stacks are cut and few frames have names");
	o->config.has_lives = 1;
	o->programs |= 1U << PROGRAM_PROGRAM | 1U << PROGRAM_END;
	if (!setup->features->task_regs || !setup->features->loop) /* untried verifiers */
		vma.end_code = 0;
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
	set_depths(config, opt, setup->features);
	set_filters(config, opt);

	int err = set_seeds(config, e);

	if (!err && setup->command_tgid)
		err = follow(ret, host, setup->command_tgid, e);
	return err;
}

int setup_explain_load(bool has_command, struct error *e)
{
	const char *level = host_lockdown();

	if (!level || (e->code != -EPERM && e->code != -EACCES && e->code != -EINVAL))
		return e->code;
	/* A tracepoint's record is the kernel's memory, and that may not be read then. */
	if (has_command && strcmp(level, "confidentiality") == 0)
		return error_set(e, -EPERM,
				 "follow the command's processes: refused by kernel lockdown (%s); "
				 "processes that are there can be traced (-p PID)",
				 level);
	return error_within(e, "the kernel is locked down (%s)", level);
}
