// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ways N - getppid() N times each by ways on which frames are found otherwise than behind a plain
 * call: below a frame that was realigned (with what leads back in a register, and without), on a
 * coroutine's own stack, in a child that shares the memory (vfork) and in one on a stack of its
 * own (clone), and behind a tail call, whose caller has no frame any more.
 */
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <sys/wait.h>
#ifdef __GLIBC__ /* musl has no coroutines */
#include <ucontext.h>
#endif

#include "work.h"

enum { STACK_BYTES = 1 << 16 };

static uint64_t n;
static char *stack;

FRAME static void hit(void) CALLS(GETPPID());

FRAME static void realigned(void)
{
	alignas(64) char room[128];

	memset(room, 0, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	hit();
	STAY();
}

/* Arguments on the stack are found by a register from before it was realigned. */
FRAME static long realigned_far(long a, long b, long c, long d, long e, long f, long g)
{
	alignas(64) char room[128];
	char *more = __builtin_alloca((size_t)(a + 64));

	memset(room, 0, sizeof(room));
	__asm__ volatile("" : : "r"(room), "r"(more) : "memory");
	hit();
	STAY();
	return b + c + d + e + f + g;
}

#ifdef __GLIBC__
static ucontext_t here, there;

FRAME static void in_coroutine(void) CALLS(hit());
#endif

FRAME static void coroutine(void)
{
#ifdef __GLIBC__
	(void)getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, in_coroutine, 0);
	(void)swapcontext(&here, &there);
#endif
	STAY();
}

FRAME static void forked(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		hit();
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	STAY();
}

FRAME static int in_clone(void *argument)
{
	(void)argument;
	hit();
	STAY();
	return 0;
}

FRAME static void cloned(void)
{
	pid_t pid = clone(in_clone, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	(void)waitpid(pid, NULL, 0);
	STAY();
}

FRAME __attribute__((optimize("optimize-sibling-calls"))) static void goes_on_in_hit(void)
{
	hit();
}

FRAME static void tail(void) CALLS(goes_on_in_hit());

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		realigned();
		(void)realigned_far((long)i, 2, 3, 4, 5, 6, 7);
		coroutine();
		forked();
		cloned();
		tail();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	stack = aligned_alloc(64, STACK_BYTES);
	if (!stack)
		return 1;
	work_run(run);
	work_expect("realigned;hit", n);
	work_expect("realigned_far;hit", n);
	work_expect("forked;hit", n);
	work_expect("tail;hit", n);
#ifdef __GLIBC__
	work_expect_at("in_coroutine;hit", n);
#endif
	work_expect_at("in_clone;hit", n);
	return 0;
}
