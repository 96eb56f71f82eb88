// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls differ by architecture and by libc: glibc's fstat() calls fstat before 2.33, and
 * newfstatat after. The kernel itself calls restart_syscall when a stopped process goes on.
 *
 * A filter sees arguments, but no memory. So a parser may ask whether a path exists, because
 * newfstatat serves both fstat() and stat().
 */
#include "files/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/array.h"

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

bool calls_allow(void)
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
