// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parsers have four layers. A hostile file may take a parser over. It then has no capability. No
 * path leads it to a file: Landlock and seccomp each see to that. It can make no socket and no
 * process.
 *
 * There are no namespaces. Beside a list of allowed calls they add nothing, and containers refuse
 * them. The bounding set stays: no_new_privs makes execve(2) gain nothing, and seccomp forbids it.
 * The user stays, too, because other processes of user "nobody" could end the parser.
 *
 * The fetcher has the network, and becomes a foreign program. It has no capability, and a list of
 * denied calls. It may open the user's files, because the program has its cache there.
 */
#include "files/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/memory.h"

/* --- system calls --- */

/*
 * System calls differ by architecture and by libc: glibc's fstat() calls fstat before 2.33, and
 * newfstatat after. The kernel itself calls restart_syscall when a stopped process goes on.
 *
 * A filter sees arguments, but no memory. So a parser may ask whether a path exists, because
 * newfstatat serves both fstat() and stat().
 */
#define MOST_INSTRUCTIONS 512

/* What ends a parser, and what it may; beside groups of calls that are denied (sandbox.h). */
enum { FATAL = 32, PARSE = 64 };

/* A call. With a @mask, only if its argument @argument, masked, is @value. */
struct rule {
	unsigned group;
	uint32_t call;
	uint32_t argument, mask, value;
};

#define RULE(group_, name)                            \
	{                                             \
		.group = (group_), .call = SYS_##name \
	}
#define RULE_IF(group_, name, argument_, mask_, value_)                        \
	{                                                                      \
		(group_), SYS_##name, (argument_), (mask_), (uint32_t)(value_) \
	}
#define ALL_BITS UINT32_MAX

/* clang-format off */
static const struct rule rules[] = {
	/* Our code makes none of these, so somebody has taken the process over. */
	RULE(FATAL, execve), RULE(FATAL, execveat), RULE(FATAL, clone), RULE(FATAL, clone3), RULE(FATAL, unshare),
	RULE(FATAL, setns), RULE(FATAL, mount), RULE(FATAL, ptrace), RULE(FATAL, process_vm_readv),
	RULE(FATAL, process_vm_writev), RULE(FATAL, kill), RULE(FATAL, tkill), RULE(FATAL, bpf),
	RULE(FATAL, perf_event_open), RULE(FATAL, socket),
#ifdef SYS_fork
	RULE(FATAL, fork), RULE(FATAL, vfork),
#endif
	RULE(PARSE, read), RULE(PARSE, pread64), RULE(PARSE, lseek), RULE(PARSE, close), RULE(PARSE, fstat),
	RULE(PARSE, newfstatat), RULE_IF(PARSE, fcntl, 1, ALL_BITS, F_GETFD), RULE_IF(PARSE, fcntl, 1, ALL_BITS, F_GETFL),
	RULE_IF(PARSE, fcntl, 1, ALL_BITS, F_DUPFD_CLOEXEC),
	RULE_IF(PARSE, mmap, 2, PROT_EXEC, 0), RULE_IF(PARSE, mprotect, 2, PROT_EXEC, 0),
	RULE(PARSE, munmap), RULE(PARSE, mremap), RULE(PARSE, madvise), RULE(PARSE, brk),
	RULE(PARSE, futex), RULE(PARSE, sched_yield), RULE(PARSE, getpid), RULE(PARSE, gettid),
	RULE(PARSE, getrandom), RULE(PARSE, sysinfo), RULE(PARSE, clock_gettime), RULE(PARSE, gettimeofday),
	RULE(PARSE, rt_sigaction), RULE(PARSE, rt_sigprocmask), RULE(PARSE, rt_sigpending),
	RULE(PARSE, rt_sigreturn), RULE(PARSE, restart_syscall), RULE(PARSE, exit), RULE(PARSE, exit_group),
#ifdef SYS_time
	RULE(PARSE, time),
#endif
	/* Calls by which a process reaches beyond its files and sockets. */
	RULE(DENY_OTHERS, ptrace), RULE(DENY_OTHERS, process_vm_readv), RULE(DENY_OTHERS, process_vm_writev),
	RULE(DENY_OTHERS, process_madvise), RULE(DENY_OTHERS, process_mrelease), RULE(DENY_OTHERS, pidfd_getfd),
	RULE(DENY_SYSTEM, setns), RULE(DENY_SYSTEM, unshare), RULE(DENY_SYSTEM, chroot), RULE(DENY_SYSTEM, pivot_root),
	RULE(DENY_SYSTEM, mount), RULE(DENY_SYSTEM, umount2), RULE(DENY_SYSTEM, move_mount),
	RULE(DENY_SYSTEM, mount_setattr), RULE(DENY_SYSTEM, open_tree), RULE(DENY_SYSTEM, fsopen),
	RULE(DENY_SYSTEM, fsconfig), RULE(DENY_SYSTEM, fsmount), RULE(DENY_SYSTEM, fspick),
	RULE(DENY_SYSTEM, open_by_handle_at), RULE(DENY_SYSTEM, fanotify_init), RULE(DENY_SYSTEM, quotactl),
	RULE(DENY_SYSTEM, init_module), RULE(DENY_SYSTEM, finit_module), RULE(DENY_SYSTEM, delete_module),
	RULE(DENY_SYSTEM, kexec_load), RULE(DENY_SYSTEM, kexec_file_load), RULE(DENY_SYSTEM, reboot),
	RULE(DENY_SYSTEM, swapon), RULE(DENY_SYSTEM, swapoff), RULE(DENY_SYSTEM, acct),
	RULE(DENY_SYSTEM, keyctl), RULE(DENY_SYSTEM, add_key), RULE(DENY_SYSTEM, request_key),
	RULE(DENY_SYSTEM, sethostname), RULE(DENY_SYSTEM, setdomainname), RULE(DENY_SYSTEM, personality),
	RULE(DENY_SYSTEM, settimeofday), RULE(DENY_SYSTEM, clock_settime), RULE(DENY_SYSTEM, adjtimex),
	RULE(DENY_SYSTEM, clock_adjtime), RULE(DENY_SYSTEM, userfaultfd),
	/* The kernel makes calls for these, which no filter sees. */
	RULE(DENY_SYSTEM, io_uring_setup), RULE(DENY_SYSTEM, io_uring_enter), RULE(DENY_SYSTEM, io_uring_register),
#ifdef SYS_iopl
	RULE(DENY_SYSTEM, iopl), RULE(DENY_SYSTEM, ioperm),
#endif
	RULE(DENY_TRACING, bpf), RULE(DENY_TRACING, perf_event_open), RULE(DENY_TRACING, syslog),
	RULE(DENY_TRACING, kcmp),
	RULE(DENY_SIGNALS, kill), RULE(DENY_SIGNALS, tkill), RULE(DENY_SIGNALS, tgkill),
	RULE(DENY_SIGNALS, rt_sigqueueinfo), RULE(DENY_SIGNALS, rt_tgsigqueueinfo),
	RULE(DENY_SIGNALS, pidfd_send_signal),
	RULE(DENY_PROGRAMS, execve), RULE(DENY_PROGRAMS, execveat),
};
/* clang-format on */

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(err) (SECCOMP_RET_ERRNO | (err))

struct program {
	struct sock_filter code[MOST_INSTRUCTIONS];
	unsigned short n;
};

static void add_instruction(struct program *p, struct sock_filter one)
{
	if (p->n < MOST_INSTRUCTIONS)
		p->code[p->n] = one;
	p->n++;
}

static void add_filter_load(struct program *p, size_t offset)
{
	add_instruction(p,
			(struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* If the loaded value is @value, go on; else skip @n instructions. */
static void add_filter_test(struct program *p, uint32_t value, uint8_t n)
{
	add_instruction(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n));
}

static void add_filter_return(struct program *p, uint32_t verdict)
{
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/*
 * Expects the call's number to be loaded, and loads it again. The arguments here have 32 bits, or
 * flags in the low 32. All architectures here are little-endian.
 */
static void add_rule(struct program *p, const struct rule *r, uint32_t verdict)
{
	add_filter_test(p, r->call, r->mask ? 5 : 1);
	if (r->mask) {
		add_filter_load(p, offsetof(struct seccomp_data, args) +
					   r->argument * sizeof(uint64_t));
		add_instruction(p,
				(struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r->mask));
		add_filter_test(p, r->value, 1);
	}
	add_filter_return(p, verdict);
	if (r->mask)
		add_filter_load(p, offsetof(struct seccomp_data, nr));
}

/* End the process at a call of another architecture, whose numbers differ: we make none. */
static void begin_filter(struct program *p)
{
	add_filter_load(p, offsetof(struct seccomp_data, arch));
	add_instruction(p,
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0));
	add_filter_return(p, SECCOMP_RET_KILL_PROCESS);
	add_filter_load(p, offsetof(struct seccomp_data, nr));
	add_instruction(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
							ARCH_FOREIGN_CALLS, 0, 1));
	add_filter_return(p, SECCOMP_RET_KILL_PROCESS);
	/* abort() sends a signal to itself */
	add_rule(p, &(struct rule){ 0, SYS_tgkill, 0, ALL_BITS, (uint32_t)getpid() }, ALLOW);
}

/*
 * Filter calls by the rules of @groups. Others get the verdict @other.
 *
 * Without SPEC_ALLOW a filter may disable speculation, by the boot option
 * spec_store_bypass_disable. That slows the whole process down.
 */
static bool filter_calls(unsigned groups, uint32_t other, unsigned more_flags)
{
	struct program p = { .n = 0 };

	begin_filter(&p);
	if (groups & DENY_SIGNALS)
		add_rule(&p, &(struct rule){ 0, SYS_kill, 0, ALL_BITS, (uint32_t)getpid() }, ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (groups & rules[i].group)
			add_rule(&p, &rules[i],
				 rules[i].group == FATAL   ? SECCOMP_RET_KILL_PROCESS
				 : rules[i].group == PARSE ? ALLOW
							   : REFUSE(EPERM));
	if (groups & DENY_SYSTEM) {
		/*
		 * A filter cannot see the flags of clone3(). With ENOSYS, libc falls back to
		 * clone().
		 */
		add_rule(&p, &(struct rule){ .call = SYS_clone3 }, REFUSE(ENOSYS));
		add_rule(&p, &(struct rule){ 0, SYS_clone, 0, NAMESPACES, 0 }, ALLOW);
		add_rule(&p, &(struct rule){ .call = SYS_clone }, REFUSE(EPERM));
	}
	add_filter_return(&p, other);

	const struct sock_fprog filter = { .len = p.n, .filter = p.code };

	return p.n <= MOST_INSTRUCTIONS &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_SPEC_ALLOW | more_flags, &filter) == 0;
}

bool calls_deny(unsigned groups, bool of_all_threads)
{
	return filter_calls(groups, ALLOW, of_all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0);
}

/* --- kinds --- */

#define MiB (1ULL << 20)
#define CAP(number) (1ULL << (number))

/* To find the files of processes (-p), and those that the user names. */
#define CAP_FINDING (CAP(CAP_SYS_PTRACE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_CHECKPOINT_RESTORE))

/*
 * Without CAP_SYS_PTRACE a process may look at another one if it has all of that one's
 * capabilities. A command has the ambient capabilities that the user gives stackcount. Finders have
 * these for that comparison alone: seccomp lets them use none.
 */
#define COMPARED                                                                 \
	(CAP(CAP_BPF) | CAP(CAP_PERFMON) | CAP(CAP_SYSLOG) | CAP(CAP_IPC_LOCK) | \
	 CAP(CAP_SYS_RESOURCE))

static const struct {
	uint64_t capabilities; /* kept, if we have them */
	rlim_t data;           /* bound of memory; 0: none of its own */
	rlim_t file;           /* bound of the files that it writes */
	unsigned denied;       /* groups of calls */
} kinds[] = {
	/* Landlock would deny a finder /proc/PID of others, even for reading. */
	[SANDBOX_FINDER] = { .capabilities = CAP_FINDING,
			     .denied = DENY_OTHERS | DENY_SYSTEM | DENY_TRACING | DENY_PROGRAMS },
	/* A hostile file of 100 MB takes 340 MiB. */
	[SANDBOX_PARSER] = { .data = 512 * MiB },
	/* We do not know libcurl's calls, so there is no list of allowed ones. */
	[SANDBOX_FETCHER] = { .data = 512 * MiB,
			      .file = 2048 * MiB,
			      .denied = DENY_OTHERS | DENY_SYSTEM | DENY_TRACING | DENY_SIGNALS },
	[SANDBOX_MATCHER] = { .capabilities = CAP_FINDING,
			      .data = 2048 * MiB,
			      .denied = DENY_OTHERS | DENY_SYSTEM | DENY_TRACING | DENY_SIGNALS |
					DENY_PROGRAMS },
};

/*
 * Drop all capabilities but @wanted. Without CAP_SYS_PTRACE keep @without_ptrace, too. The kernel
 * drops ambient ones with them.
 */
static int keep_capabilities(uint64_t wanted, uint64_t without_ptrace)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, has) < 0)
		return -errno;
	if (!(has[0].permitted & CAP(CAP_SYS_PTRACE)))
		wanted |= without_ptrace;
	for (size_t i = 0; i < ARRAY_SIZE(has); i++) {
		has[i].permitted &= (uint32_t)(wanted >> 32 * i);
		has[i].effective = has[i].permitted;
		has[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, has) < 0 ? -errno : 0;
}

static void lower_limit(int what, rlim_t most)
{
	struct rlimit both;

	if (getrlimit(what, &both) < 0)
		return;
	if (both.rlim_max > most)
		both.rlim_max = most;
	if (both.rlim_cur > both.rlim_max)
		both.rlim_cur = both.rlim_max;
	(void)setrlimit(what, &both);
}

static void set_limits(enum sandbox kind)
{
	const bool is_parser = kind == SANDBOX_PARSER;

	lower_limit(RLIMIT_CORE, 0);
	lower_limit(RLIMIT_FSIZE, kinds[kind].file);
	if (is_parser) {
		lower_limit(RLIMIT_NOFILE, 512);
		lower_limit(RLIMIT_STACK, 8 * MiB); /* elf/lines.c and libiberty are recursive */
	}
	if (is_parser && !IS_SANITIZED) /* it maps whole files, with their holes */
		lower_limit(RLIMIT_AS, 1048576 * MiB);
	if (kinds[kind].data && !IS_SANITIZED)
		lower_limit(RLIMIT_DATA, kinds[kind].data);
}

/*
 * Unmap the maps that BPF programs read: a copy of the main process inherits its shared mappings.
 */
static void leave_shared_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[2 * PATH_MAX], kind;
	unsigned long from, to;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*3c%c", &from, &to, &kind) == 3 && kind == 's')
			(void)syscall(SYS_munmap, from, to - from);
	if (maps)
		(void)fclose(maps);
}

/* Fails without CAP_SETPCAP. Then no_new_privs makes the set useless. */
static void leave_bounding_set(void)
{
	for (int i = 0; i <= CAP_LAST_CAP || prctl(PR_CAPBSET_READ, i) >= 0; i++)
		(void)prctl(PR_CAPBSET_DROP, i);
}

/* For copies of the main process. Children of the zygote inherit this. */
static int drop_inherited_rights(struct error *e)
{
	leave_shared_memory();
	leave_bounding_set();
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? error_errno(e, "give privileges up")
							  : 0;
}

/*
 * As in linux/landlock.h, which may be older than the kernel. These numbers of calls hold for all
 * architectures.
 */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION 1U

/* Deny all use of paths: the rights of version 1, and of version 3, which has truncate(2). */
static void leave_paths(void)
{
	const long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);
	const uint64_t denied = (1ULL << (version < 3 ? 13 : 15)) - 1;
	const int fd = (int)syscall(LANDLOCK_CREATE_RULESET, &denied, sizeof(denied), 0);

	if (fd >= 0) {
		(void)syscall(LANDLOCK_RESTRICT_SELF, fd, 0);
		(void)close(fd);
	}
}

int sandbox_enter(enum sandbox kind, struct error *e)
{
	const uint64_t wanted = kinds[kind].capabilities;
	int err = 0;

	if (kind != SANDBOX_PARSER)
		err = drop_inherited_rights(e);
	if (err)
		return err;
	set_limits(kind); /* from here on, a copy of a large process may get no more memory */
	err = keep_capabilities(wanted, wanted ? COMPARED : 0);
	if (err)
		return error_set(e, err, "drop capabilities: %s", error_words(err));
	if (kind != SANDBOX_PARSER) {
		(void)calls_deny(kinds[kind].denied, false);
		return 0;
	}
	leave_paths();
	/*
	 * Calls of other rules fail with EPERM, so that a library can go on. Needs no_new_privs,
	 * which the zygote has set.
	 */
	if (!IS_SANITIZED)
		(void)filter_calls(FATAL | PARSE, REFUSE(EPERM), 0);
	return 0;
}

int sandbox_keep(uint64_t capabilities)
{
	leave_bounding_set();
	return keep_capabilities(capabilities, capabilities ? UINT64_MAX : 0);
}

uint64_t sandbox_effect(uint64_t on, uint64_t off)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {};
	uint64_t before;

	if (syscall(SYS_capget, &head, has) < 0)
		return 0;
	before = has[0].effective | (uint64_t)has[1].effective << 32;
	for (size_t i = 0; i < ARRAY_SIZE(has); i++) {
		has[i].effective |= has[i].permitted & (uint32_t)(on >> 32 * i);
		has[i].effective &= ~(uint32_t)(off >> 32 * i);
	}
	return syscall(SYS_capset, &head, has) < 0 ? UINT64_MAX : before;
}
