// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * syscalls KIND A B [SECONDS] - a system call by two paths, A and B times. With
 * SECONDS the calls are spread over that time.
 *
 * KIND       what one call reaches exactly once
 *  getppid   t:syscalls:sys_enter_getppid, __x64_sys_getppid
 *  read      t:syscalls:sys_enter_read, ksys_read, vfs_read (of /dev/zero)
 *  priority  t:syscalls:sys_enter_getpriority, __x64_sys_getpriority
 */
#include <fcntl.h>
#include <time.h>

#include "work.h"

enum { BATCH = 100 };

static uint64_t n_a, n_b;
static double seconds;
static int zero_fd = -1;
static enum { KIND_GETPPID, KIND_READ, KIND_PRIORITY } kind;

FRAME static void hit(void)
{
	char byte;

	if (kind == KIND_GETPPID)
		GETPPID();
	else if (kind == KIND_READ)
		raw_syscall3(SYS_read, zero_fd, (long)&byte, 1);
	else
		raw_syscall3(SYS_getpriority, 0, 0, 0);
	STAY();
}

FRAME static void branch_a(void) CALLS(hit());

FRAME static void middle(void) CALLS(hit());

FRAME static void branch_b(void) CALLS(middle());

FRAME static void rest(uint64_t n_done)
{
	uint64_t n = n_a > n_b ? n_a : n_b;
	double s = seconds * BATCH / (double)n;
	struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	if (n_done % BATCH == 0)
		nanosleep(&t, NULL);
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_a || i < n_b; i++) {
		if (i < n_a)
			branch_a();
		if (i < n_b)
			branch_b();
		if (seconds > 0)
			rest(i);
	}
	STAY();
}

static void set_kind(const char *name)
{
	if (strcmp(name, "read") == 0)
		kind = KIND_READ;
	else if (strcmp(name, "priority") == 0)
		kind = KIND_PRIORITY;
	else if (strcmp(name, "getppid") != 0)
		exit(2);
}

int main(int argc, char **argv)
{
	char **last = argv + argc;

	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	argv = work_begin(argc, argv, 3, "KIND A B [SECONDS]");
	set_kind(argv[0]);
	n_a = work_number(argv[1]);
	n_b = work_number(argv[2]);
	seconds = last - argv > 3 ? atof(argv[3]) : 0;
	work_run(run);
	work_expect("branch_a;hit", n_a);
	work_expect("branch_b;middle;hit", n_b);
	return 0;
}
