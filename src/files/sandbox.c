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
#include "base/array.h"

/* --- system calls --- */

/*
 * System calls differ by architecture and by libc: glibc's fstat() calls fstat before 2.33, and
 * newfstatat after. The kernel itself calls restart_syscall when a stopped process goes on.
 *
 * A filter sees arguments, but no memory. So a parser may ask whether a path exists, because
 * newfstatat serves both fstat() and stat().
 */
#define MOST_INSTRUCTIONS 512

/* Allow a call if its argument @argument, masked, is @value. Mask 0 allows any. */
struct rule {
	uint32_t call;
	uint32_t argument, mask, value;
};

#define CALL(name)                  \
	{                           \
		.call = SYS_##name, \
	}
#define CALL_IF(name, argument_, mask_, value_)                     \
	{                                                           \
		.call = SYS_##name, (argument_), (mask_), (value_), \
	}
#define ALL_BITS UINT32_MAX

/* clang-format off */
static const struct rule of_parsers[] = {
	CALL(read), CALL(pread64), CALL(lseek), CALL(close), CALL(fstat), CALL(newfstatat),
	CALL_IF(fcntl, 1, ALL_BITS, F_GETFD), CALL_IF(fcntl, 1, ALL_BITS, F_GETFL),
	CALL_IF(fcntl, 1, ALL_BITS, F_DUPFD_CLOEXEC),
	CALL_IF(mmap, 2, PROT_EXEC, 0), CALL_IF(mprotect, 2, PROT_EXEC, 0),
	CALL(munmap), CALL(mremap), CALL(madvise), CALL(brk),
	CALL(futex), CALL(sched_yield), CALL(getpid), CALL(gettid), CALL(getrandom), CALL(sysinfo),
	CALL(clock_gettime), CALL(gettimeofday),
	CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigpending), CALL(rt_sigreturn), CALL(restart_syscall),
	CALL(exit), CALL(exit_group),
#ifdef SYS_time
	CALL(time),
#endif
};

/* Our code makes none of these, so somebody has taken the process over. */
static const uint32_t fatal[] = {
	SYS_execve, SYS_execveat, SYS_clone, SYS_clone3, SYS_unshare, SYS_setns, SYS_mount,
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kill, SYS_tkill,
	SYS_bpf, SYS_perf_event_open, SYS_socket,
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
};

/* The deny list: calls by which a process reaches beyond its files and sockets. */
static const struct {
	uint32_t call;
	unsigned group;
} denied[] = {
	{ SYS_ptrace, DENY_OTHERS }, { SYS_process_vm_readv, DENY_OTHERS }, { SYS_process_vm_writev, DENY_OTHERS },
	{ SYS_process_madvise, DENY_OTHERS }, { SYS_process_mrelease, DENY_OTHERS }, { SYS_pidfd_getfd, DENY_OTHERS },
	{ SYS_setns, DENY_SYSTEM }, { SYS_unshare, DENY_SYSTEM }, { SYS_chroot, DENY_SYSTEM }, { SYS_pivot_root, DENY_SYSTEM },
	{ SYS_mount, DENY_SYSTEM }, { SYS_umount2, DENY_SYSTEM }, { SYS_move_mount, DENY_SYSTEM },
	{ SYS_mount_setattr, DENY_SYSTEM }, { SYS_open_tree, DENY_SYSTEM }, { SYS_fsopen, DENY_SYSTEM },
	{ SYS_fsconfig, DENY_SYSTEM }, { SYS_fsmount, DENY_SYSTEM }, { SYS_fspick, DENY_SYSTEM },
	{ SYS_open_by_handle_at, DENY_SYSTEM }, { SYS_fanotify_init, DENY_SYSTEM }, { SYS_quotactl, DENY_SYSTEM },
	{ SYS_init_module, DENY_SYSTEM }, { SYS_finit_module, DENY_SYSTEM }, { SYS_delete_module, DENY_SYSTEM },
	{ SYS_kexec_load, DENY_SYSTEM }, { SYS_kexec_file_load, DENY_SYSTEM }, { SYS_reboot, DENY_SYSTEM },
	{ SYS_swapon, DENY_SYSTEM }, { SYS_swapoff, DENY_SYSTEM }, { SYS_acct, DENY_SYSTEM },
	{ SYS_keyctl, DENY_SYSTEM }, { SYS_add_key, DENY_SYSTEM }, { SYS_request_key, DENY_SYSTEM },
	{ SYS_sethostname, DENY_SYSTEM }, { SYS_setdomainname, DENY_SYSTEM }, { SYS_personality, DENY_SYSTEM },
	{ SYS_settimeofday, DENY_SYSTEM }, { SYS_clock_settime, DENY_SYSTEM }, { SYS_adjtimex, DENY_SYSTEM },
	{ SYS_clock_adjtime, DENY_SYSTEM }, { SYS_userfaultfd, DENY_SYSTEM },
	/* The kernel makes calls for these, which no filter sees. */
	{ SYS_io_uring_setup, DENY_SYSTEM }, { SYS_io_uring_enter, DENY_SYSTEM }, { SYS_io_uring_register, DENY_SYSTEM },
#ifdef SYS_iopl
	{ SYS_iopl, DENY_SYSTEM }, { SYS_ioperm, DENY_SYSTEM },
#endif
	{ SYS_bpf, DENY_TRACING }, { SYS_perf_event_open, DENY_TRACING }, { SYS_syslog, DENY_TRACING },
	{ SYS_kcmp, DENY_TRACING },
	{ SYS_kill, DENY_SIGNALS }, { SYS_tkill, DENY_SIGNALS }, { SYS_tgkill, DENY_SIGNALS },
	{ SYS_rt_sigqueueinfo, DENY_SIGNALS }, { SYS_rt_tgsigqueueinfo, DENY_SIGNALS },
	{ SYS_pidfd_send_signal, DENY_SIGNALS },
	{ SYS_execve, DENY_PROGRAMS }, { SYS_execveat, DENY_PROGRAMS },
};
/* clang-format on */

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

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

static void add_filter_return(struct program *p, uint32_t verdict)
{
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* If the loaded value compares as @comparison to @value, go on; else skip @n instructions. */
static void add_filter_test(struct program *p, unsigned short comparison, uint32_t value, uint8_t n)
{
	add_instruction(p, (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, value, 0, n));
}

/*
 * Expects the call's number to be loaded, and loads it again. The arguments here have 32 bits, or
 * flags in the low 32. All architectures here are little-endian.
 */
static void add_rule(struct program *p, const struct rule *r)
{
	if (r->mask == 0) {
		add_filter_test(p, BPF_JEQ, r->call, 1);
		add_filter_return(p, SECCOMP_RET_ALLOW);
		return;
	}
	add_filter_test(p, BPF_JEQ, r->call, 5);
	add_filter_load(p, offsetof(struct seccomp_data, args) + r->argument * sizeof(uint64_t));
	add_instruction(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r->mask));
	add_filter_test(p, BPF_JEQ, r->value, 1);
	add_filter_return(p, SECCOMP_RET_ALLOW);
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
	add_filter_test(p, BPF_JGE, ARCH_FOREIGN_CALLS, 1);
	add_filter_return(p, SECCOMP_RET_KILL_PROCESS);
	/* abort() sends a signal to itself */
	add_rule(p, &(struct rule){ SYS_tgkill, 0, ALL_BITS, (uint32_t)getpid() });
}

static void add_verdict(struct program *p, uint32_t call, uint32_t verdict)
{
	add_filter_test(p, BPF_JEQ, call, 1);
	add_filter_return(p, verdict);
}

/*
 * Without SPEC_ALLOW a filter may disable speculation, by the boot option
 * spec_store_bypass_disable. That slows the whole process down.
 */
static bool install_filter(const struct program *p, unsigned more_flags)
{
	const struct sock_fprog filter = { .len = p->n, .filter = (struct sock_filter *)p->code };

	return p->n <= MOST_INSTRUCTIONS &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_SPEC_ALLOW | more_flags, &filter) == 0;
}

/*
 * Allow the calls that a parser needs. Other calls fail with EPERM, so that a library can go on.
 * Calls that no parser's library makes end the process. Needs no_new_privs. False: there is no
 * seccomp, or no table for the architecture.
 */
static bool calls_allow(void)
{
	struct program p = { .n = 0 };

	begin_filter(&p);
	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		add_verdict(&p, fatal[i], SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < ARRAY_SIZE(of_parsers); i++)
		add_rule(&p, &of_parsers[i]);
	add_filter_return(&p, SECCOMP_RET_ERRNO | EPERM);
	return install_filter(&p, 0);
}

bool calls_deny(unsigned groups, bool of_all_threads)
{
	struct program p = { .n = 0 };

	begin_filter(&p);
	if (groups & DENY_SIGNALS)
		add_rule(&p, &(struct rule){ SYS_kill, 0, ALL_BITS, (uint32_t)getpid() });
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		if (groups & denied[i].group)
			add_verdict(&p, denied[i].call, SECCOMP_RET_ERRNO | EPERM);
	if (groups & DENY_SYSTEM) {
		/*
		 * A filter cannot see the flags of clone3(). With ENOSYS, libc falls back to
		 * clone().
		 */
		add_verdict(&p, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
		add_rule(&p, &(struct rule){ SYS_clone, 0, NAMESPACES, 0 });
		add_verdict(&p, SYS_clone, SECCOMP_RET_ERRNO | EPERM);
	}
	add_filter_return(&p, SECCOMP_RET_ALLOW);
	return install_filter(&p, of_all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0);
}

/* --- kinds --- */

#define MiB (1ULL << 20)
#define CAP(number) (1ULL << (number))

#define MOST_LIMITS 4

/*
 * Without CAP_SYS_PTRACE a process may look at another one if it has all of that one's
 * capabilities. A command has the ambient capabilities that the user gives stackcount. Finders have
 * these for that comparison alone: seccomp lets them use none.
 */
#define COMPARED                                                                 \
	(CAP(CAP_BPF) | CAP(CAP_PERFMON) | CAP(CAP_SYSLOG) | CAP(CAP_IPC_LOCK) | \
	 CAP(CAP_SYS_RESOURCE))

/* clang-format off */
static const struct {
	uint64_t capabilities; /* kept, if we have them */
	uint64_t without_ptrace; /* kept, too, if we have no CAP_SYS_PTRACE */
	struct {
		int what;
		rlim_t most;
	} limits[MOST_LIMITS];
	size_t n_limits;
	bool is_copy; /* of the main process; else a child of the zygote, which is one */
	unsigned denied; /* of a copy: groups of calls */
} kinds[] = {
	[SANDBOX_FINDER] = {
		/* Landlock would deny /proc/PID of others, even for reading. */
		.capabilities = CAP(CAP_SYS_PTRACE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_CHECKPOINT_RESTORE),
		.without_ptrace = COMPARED,
		.limits = { { RLIMIT_FSIZE, 0 } },
		.n_limits = 1,
		.is_copy = true,
		.denied = DENY_OTHERS | DENY_SYSTEM | DENY_TRACING | DENY_PROGRAMS,
	},
	[SANDBOX_PARSER] = {
		/*
		 * A hostile file of 100 MB takes 340 MiB. A parser maps whole files, with their
		 * holes.
		 */
		.limits = { { RLIMIT_FSIZE, 0 }, { RLIMIT_DATA, 512 * MiB }, { RLIMIT_AS, 1048576 * MiB },
			    { RLIMIT_NOFILE, 512 } },
		.n_limits = 4,
	},
	[SANDBOX_FETCHER] = {
		/* We do not know libcurl's calls, so there is no list of allowed ones. */
		.limits = { { RLIMIT_DATA, 512 * MiB } },
		.n_limits = 1,
		.is_copy = true,
		.denied = DENY_OTHERS | DENY_SYSTEM | DENY_TRACING | DENY_SIGNALS,
	},
	[SANDBOX_MATCHER] = {
		/* Files of processes (-p), and those that the user names. */
		.capabilities = CAP(CAP_SYS_PTRACE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_CHECKPOINT_RESTORE),
		.without_ptrace = COMPARED,
		.limits = { { RLIMIT_FSIZE, 0 }, { RLIMIT_DATA, 2048 * MiB } },
		.n_limits = 2,
		.is_copy = true,
		.denied = DENY_OTHERS | DENY_SYSTEM | DENY_TRACING | DENY_SIGNALS | DENY_PROGRAMS,
	},
};
/* clang-format on */

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

/* Bytes that count for RLIMIT_DATA: the sixth number of /proc/self/statm, which includes stacks. */
static rlim_t data_bytes(void)
{
	unsigned long long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	if (!statm)
		return 0;
	if (fscanf(statm, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	(void)fclose(statm);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void set_limits(enum sandbox kind)
{
	const rlim_t inherited = kinds[kind].is_copy ? data_bytes() : 0;

	lower_limit(RLIMIT_CORE, 0);
	for (size_t i = 0; i < kinds[kind].n_limits; i++) {
		const int what = kinds[kind].limits[i].what;

		if (!IS_SANITIZED || (what != RLIMIT_DATA && what != RLIMIT_AS))
			lower_limit(what, kinds[kind].limits[i].most +
						  (what == RLIMIT_DATA ? inherited : 0));
	}
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
struct landlock_rules {
	uint64_t files, net, scoped;
};
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION 1U

/* Deny every access that this kernel's version of Landlock knows. */
static struct landlock_rules deny_all(long version)
{
	static const int n_files[] = { 0, 13, 14, 15, 15 }; /* rights of version 1, 2, ... */
	const int n = version < 5 ? n_files[version] : 16;

	return (struct landlock_rules){ .files = (1ULL << n) - 1,
					.net = version < 4 ? 0 : 3,
					.scoped = version < 6 ? 0 : 3 };
}

static bool leave_paths(void)
{
	const long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);

	if (version < 1)
		return false;

	/* An older kernel accepts members that it does not know if they are zero. */
	const struct landlock_rules rules = deny_all(version);
	const int fd = (int)syscall(LANDLOCK_CREATE_RULESET, &rules, sizeof(rules), 0);
	const bool is_done = fd >= 0 && syscall(LANDLOCK_RESTRICT_SELF, fd, 0) == 0;

	if (fd >= 0)
		(void)close(fd);
	return is_done;
}

int sandbox_enter(enum sandbox kind, uint32_t *ret_layers, struct error *e)
{
	const bool is_copy = kinds[kind].is_copy;

	set_limits(kind);

	int err = is_copy ? drop_inherited_rights(e) : 0;

	if (err)
		return err;
	err = keep_capabilities(kinds[kind].capabilities, kinds[kind].without_ptrace);
	if (err)
		return error_set(e, err, "drop capabilities: %s", error_words(err));
	if (is_copy) {
		(void)calls_deny(kinds[kind].denied, false);
		return 0;
	}
	*ret_layers = leave_paths() ? LAYER_LANDLOCK : 0;
	if (!IS_SANITIZED && calls_allow())
		*ret_layers |= LAYER_SECCOMP;
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
