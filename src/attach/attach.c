// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Carry out the plan: each backend gets its targets, and notes each as placed or refused. The
 * backends are in kernel_probes.c and user_probes.c.
 */
#include "attach/attach.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/backend.h"
#include "attach/syscall.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/memory.h"

/*
 * With more processes, user probes are system-wide. The program filters processes anyway. A probe
 * costs less in other processes than this many probes cost here.
 */
#define MAX_PIDS 16

/* --- detaching --- */

/*
 * Close probes. Before it releases a probe, Linux waits until no CPU can be in it, one probe at a
 * time. On 6.18, a link of these takes:
 *
 *	kprobe, tracepoint     70 ms, more than half of it with event_mutex held
 *	uprobe                110 ms
 *	many places (multi)    one wait for all
 *
 * So 2,153 uprobes take minutes. The wait is in the process that closes a descriptor last, and no
 * signal ends it there. The kernel also closes what a process has when that exits, after it has
 * freed its memory. So the last one to hold the links is a process that does nothing but exit.
 *
 * Not chosen: closing with many threads. Kernels such as 6.1 and 6.12 wait with bpf_event_mutex
 * held, and all close perf events one after the other.
 *
 * Not chosen: faster grace periods (/sys/kernel/rcu_expedited). A link takes little less (Tasks
 * Trace RCU). It is a setting of the whole system, and would stay if we were killed.
 */

#define MOST_MS 600 /* to wait for the kernel */

/* In the process: exit when it is the last to hold the @n - 1 links in front of the pipe. */
__attribute__((noreturn)) static void hold_links(int *kept, size_t n)
{
	const int may_exit = kept[n - 1];
	char byte;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "detaching");
	descriptors_close_but(kept, n);
	(void)!read(may_exit, &byte, 1);
	_exit(0);
}

/* Returns the process, which may exit when *@ret_may_exit is closed; -1: there is none. */
static pid_t start_last_holder(const int *links, size_t n, int *ret_may_exit)
{
	cleanup_free int *kept = xcalloc(n + 1, sizeof(*kept));
	sigset_t all, before;
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -1;

	cleanup_close int reader = pipe_fds[0];
	cleanup_close int writer = pipe_fds[1];

	memcpy(kept, links, n * sizeof(*kept));
	kept[n] = reader;
	/* Ctrl-C goes to the whole group, so no signal comes until the process has left it. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0)
		hold_links(kept, n + 1);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid > 0)
		*ret_may_exit = TAKE_FD(writer);
	return pid;
}

/* waitpid() tells of a process after the kernel has closed what that held. */
static bool wait_for_end(pid_t holder)
{
	for (int ms = 0; ms < MOST_MS; ms++) {
		if (waitpid(holder, NULL, WNOHANG) != 0)
			return true;
		(void)usleep(1000);
	}
	return false;
}

/*
 * Close links within a moment. If the kernel takes longer than that, a process that holds nothing
 * else waits for it, and then ends. Until then the links' programs may still run.
 */
static void detach_links(const struct attachment *a)
{
	const size_t n = a->n_links;
	int may_exit = -1;
	const pid_t holder = n ? start_last_holder(a->links, n, &may_exit) : -1;

	for (size_t i = 0; i < n; i++)
		close(a->links[i]);
	if (holder < 0)
		return;
	close(may_exit);
	if (!wait_for_end(holder))
		log_warn("%zu probes no longer count, but the kernel is still removing them",
			 a->n_attached);
}

void attachment_detach(struct attachment *a)
{
	samples_fini(&a->samples);
	a->missed = attachment_missed(a);
	detach_links(a);
	a->n_links = 0;
}

void attachment_freep(struct attachment **a)
{
	if (!*a)
		return;
	attachment_detach(*a);
	free((*a)->outcomes);
	free((*a)->links);
	for (size_t i = 0; i < (*a)->n_refused; i++)
		free((*a)->refusals[i].reason);
	free((*a)->refusals);
	cleanup_free_p(a);
}

/* --- attaching --- */

void selection_fini(struct selection *s)
{
	free(s->items);
	*s = (struct selection){};
}

void attachment_note(struct attachment *a, uint32_t target, int code)
{
	if (a->outcomes[target] != PLACED)
		a->outcomes[target] = code ? code : PLACED;
}

static backend_attach *const backends[BACKEND_N] = {
	[BACKEND_TRACEPOINT] = tracepoint_attach,
	[BACKEND_KPROBE_MULTI] = kprobe_multi_attach,
	[BACKEND_KPROBE] = kprobe_attach,
	[BACKEND_UPROBE_MULTI] = uprobe_multi_attach,
	[BACKEND_UPROBE] = uprobe_attach,
	[BACKEND_PERF_EVENT] = perf_event_attach,
	[BACKEND_KRETPROBE_MULTI] = kprobe_multi_attach,
	[BACKEND_KRETPROBE] = kprobe_attach,
};

/*
 * Refuse targets at which the kernel would break the program, or which it would refuse later
 * without an error.
 */
static void refuse_in_advance(struct attachment *a)
{
	static const int codes[] = {
		[OBSTACLE_NONE] = 0,
		[OBSTACLE_REFUSED] = -UAPI_ENOTSUPP,
		[OBSTACLE_MISTAKEN] = -EILSEQ,
		[OBSTACLE_OVERWRITES] = -EOVERFLOW,
	};

	for (size_t i = 0; i < a->plan->n; i++)
		a->outcomes[i] = codes[a->targets[i].obstacle];
}

static int attach_planned(struct attachment *a, struct error *e)
{
	int err = 0;

	for (enum backend backend = 0; backend < BACKEND_N && !err; backend++) {
		cleanup(selection_fini) struct selection chosen = {};

		for (size_t i = 0; i < a->plan->n; i++)
			if (a->plan->backends[i] == backend && !a->outcomes[i])
				array_push(chosen.items, chosen.n, chosen.capacity, (uint32_t)i);
		if (!chosen.n)
			continue;
		if (backend == BACKEND_UPROBE_MULTI || backend == BACKEND_UPROBE)
			err = attach_in_files(a, backends[backend], &chosen, e);
		else
			backends[backend](a, &chosen);
	}
	return err;
}

/* The caller frees it. */
static char *explain(const struct target *t, int code)
{
	const char *words = refusal_words(t->kind, code);

	return t->path ? xasprintf("%s (%s+0x%" PRIx64 ")", words, t->path, t->offset)
		       : xstrdup(words);
}

/* Sum up the outcomes. */
static int collect_outcomes(struct attachment *a, struct error *e)
{
	for (size_t i = 0; i < a->plan->n; i++) {
		const struct target *target = &a->targets[i];
		const int code = a->outcomes[i];

		if (code != PLACED) {
			const struct refusal refusal = { target, code, explain(target, code) };

			array_push(a->refusals, a->n_refused, a->refusals_capacity, refusal);
		} else if (target->role != ROLE_END) {
			a->n_attached += !i || !target_is_further_exit(target - 1, target);
		}
	}
	if (a->n_attached > 0 || a->n_refused == 0)
		return 0;

	const struct refusal *first = &a->refusals[0];

	if (a->n_refused == 1)
		return error_set(e, first->code, "attach %s: %s", first->target->name,
				 first->reason);
	return error_set(e, first->code,
			 "attach %s: %s (and none of the other %zu could be attached)",
			 first->target->name, first->reason, a->n_refused - 1);
}

/* First: a hit at an exec belongs to the new program. */
static int attach_following(struct attachment *a, struct error *e)
{
	static const struct {
		const char *event;
		enum object_program program;
	} events[] = { { "task_newtask", PROGRAM_NEW_TASK },
		       { "sched_process_exec", PROGRAM_EXEC },
		       { "sched_process_exit", PROGRAM_EXIT },
		       { "vm_unmapped_area", PROGRAM_RESERVED } };

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (object_program_fd(a->object, events[i].program) >= 0 &&
		    link_raw_tracepoint(a, events[i].event, events[i].program) < 0)
			return error_errno(e, "follow processes: %s", events[i].event);
	return 0;
}

int attach_all(const struct target_list *targets, const struct plan *plan,
	       const struct object *object, const struct attach_scope *scope,
	       struct attachment **ret, struct error *e)
{
	assert(plan->n == targets->n);
	cleanup(attachment_freep) struct attachment *a = xcalloc(1, sizeof(*a));

	*a = (struct attachment){ .targets = targets->targets,
				  .plan = plan,
				  .object = object,
				  .scope = *scope,
				  .outcomes = xcalloc(plan->n, sizeof(*a->outcomes)) };
	if (scope->n_pids > MAX_PIDS)
		a->scope.n_pids = 0;
	refuse_in_advance(a);

	int err = attach_following(a, e);

	if (!err)
		err = attach_planned(a, e);
	if (!err)
		err = collect_outcomes(a, e);
	if (err)
		return err;
	*ret = TAKE(a);
	return 0;
}

size_t attachment_n_attached(const struct attachment *a)
{
	return a->n_attached;
}

const struct refusal *attachment_refusals(const struct attachment *a, size_t *ret_n)
{
	*ret_n = a->n_refused;
	return a->refusals;
}

uint64_t attachment_missed(const struct attachment *a)
{
	uint64_t n = a->missed;

	for (size_t i = 0; i < a->n_links; i++)
		n += link_missed(a->links[i]);
	return n;
}

/* --- the words of refusals --- */

/*
 * Words for the kernel's error numbers, for users who trace. For user places EILSEQ and EOVERFLOW
 * are ours.
 */

#define KERNEL (1u << TARGET_KERNEL_FUNCTION | 1u << TARGET_KERNEL_RETURN)
#define FUNCTION (1u << TARGET_USER_FUNCTION)
#define USDT (1u << TARGET_USDT)
#define RETURN (1u << TARGET_USER_RETURN)
#define USER (FUNCTION | USDT | RETURN)
#define TRACEPOINT (1u << TARGET_TRACEPOINT)
#define SAMPLE (1u << TARGET_PERF_EVENT)
#define ANY (KERNEL | USER | TRACEPOINT | SAMPLE)

#define NO_COUNTER                                                                         \
	"this machine has no counter for it (few virtual machines have any); e:cpu-clock " \
	"samples by a timer"

#define NO_TRACEPOINT                                                               \
	"no such tracepoint; an event that was defined in tracefs (kprobe_events, " \
	"uprobe_events) runs no program of a tracepoint: trace its function instead"

static const struct {
	int code;
	unsigned kinds;
	const char *words;
} refusals[] = {
	{ ENOENT, KERNEL, "no such function in this kernel" },
	{ ESRCH, KERNEL, "no such function in this kernel" },
	{ EADDRNOTAVAIL, KERNEL, "several functions have this name" },
	{ EINVAL, KERNEL,
	  "the kernel does not allow a probe there (notrace, or among those it protects)" },
	{ EILSEQ, KERNEL, "no instruction begins there, says the kernel" },
	{ EBUSY, KERNEL, "another user of kernel patching holds its entry" },
	{ EOPNOTSUPP, KERNEL, "the kernel cannot probe it" },

	{ EOPNOTSUPP, FUNCTION, "the kernel cannot probe its first instruction" },
	{ EOPNOTSUPP, USDT | RETURN, "the kernel cannot probe the instruction there" },
	{ EILSEQ, FUNCTION, "the kernel would mistake its first instruction for another one" },
	{ EILSEQ, USDT | RETURN, "the kernel would mistake the instruction there for another one" },
	{ EOVERFLOW, USER,
	  "this kernel would replace the 5-byte NOP there by a call that writes over the "
	  "function's variables, and execution also comes to the instruction behind it from "
	  "elsewhere" },
	{ ENOEXEC, USER, "there is no instruction there" },
	{ EINVAL, USER, "the kernel does not allow a probe there" },
	{ EFBIG, USDT, "its semaphore is too far into the file" },
	{ ENOENT, USER, "the file is gone" },
	{ ESRCH, USER, "the process has ended" },
	{ ETXTBSY, USER, "the file is open for writing" },
	{ EBADF, USER, "not a file that is run" },
	{ EIO, USER, "the file cannot be read by the kernel" },

	{ EINVAL, TRACEPOINT, NO_TRACEPOINT },
	{ EINTR, TRACEPOINT, NO_TRACEPOINT },
	{ ENOENT, TRACEPOINT, "no such tracepoint" },
	{ E2BIG, TRACEPOINT, "too many programs are attached to it" },

	{ ENOENT, SAMPLE, NO_COUNTER },
	{ EOPNOTSUPP, SAMPLE, NO_COUNTER },
	{ ENODEV, SAMPLE, "no CPU of those wanted is online and has it" },
	{ EINVAL, SAMPLE,
	  "the kernel cannot sample it so (its terms or modifiers, or a frequency above "
	  "kernel.perf_event_max_sample_rate)" },
	{ EBUSY, SAMPLE, "others hold the CPU's counters" },
	{ ENOSPC, SAMPLE, "others hold the CPU's counters" },

	{ ENOMEM, ANY, "the kernel is out of memory for it" },
};

const char *refusal_words(enum target_kind kind, int code)
{
	if (code == -UAPI_ENOTSUPP)
		code = -EOPNOTSUPP;
	if (code == -EPERM || code == -EACCES)
		return "Operation not permitted (by kernel lockdown, a security module or missing "
		       "capabilities)";
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		if (refusals[i].code == -code && refusals[i].kinds & 1u << kind)
			return refusals[i].words;
	}
	if (code == -EMFILE || code == -ENFILE)
		return error_words(code);

	const char *words = strerrordesc_np(-code);
	return words ? words : "refused by the kernel";
}
