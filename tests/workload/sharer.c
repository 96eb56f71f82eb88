// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sharer LIBRARY N - a child with the same memory (CLONE_VM) is made, and "made" said; a line on
 * standard input; LIBRARY (liblate.so) is loaded, and the child, not the parent, calls getppid()
 * N times from it.
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "work.h"

#define STACK_BYTES (1 << 16)

static const char *library;
static uint64_t n;
static int gate[2];
static void (*late_entry)(void);

FRAME static int child(void *unused)
{
	char byte;

	(void)unused;
	if (raw_syscall3(SYS_read, gate[0], (long)&byte, 1) != 1)
		raw_syscall3(SYS_exit_group, 1, 0, 0);
	for (uint64_t i = 0; i < n; i++)
		late_entry();
	raw_syscall3(SYS_exit_group, 0, 0, 0);
	return 0;
}

FRAME static void run(void)
{
	char *stack = malloc(STACK_BYTES);
	int status = 1;
	pid_t pid;

	if (!stack || pipe(gate) < 0)
		exit(1);
	pid = clone(child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
	printf("made\n");
	work_pause();
	late_entry = (void (*)(void))dlsym(dlopen(library, RTLD_NOW), "late_entry");
	if (!late_entry || write(gate[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
	free(stack);
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 2, "LIBRARY N");
	library = argv[0];
	n = work_number(argv[1]);
	work_run(run);
	work_expect_at("child;late_entry;late_hit", n);
	return 0;
}
