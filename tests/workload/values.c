// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * values KIND N - calls with known values, by two paths, N times each. Call number i, from 0 on:
 *
 * KIND    branch_a                         branch_b;middle
 *  write  write(i % 1000 + 1 bytes)        write(7 bytes)
 *  read   read(-1): -EBADF                 read() of i % 100 bytes
 *  call   many(-i, i, 3 * i, -1, -2, 5, 1000 + i, -7), which returns -i
 *                                          many(i, ...), which returns i
 */
#include <fcntl.h>

#include "work.h"

static enum { KIND_WRITE, KIND_READ, KIND_CALL } kind;
static uint64_t n_calls;
static int null_fd, zero_fd;
static char bytes[1024];

long many(int a, unsigned b, long c, char d, short e, long f, long g, int h);

/* Eight arguments: some are on the stack. Returns an int, so the register's upper half is not set.
 */
FRAME long many(int a, unsigned b, long c, char d, short e, long f, long g, int h)
{
	STAY();
	(void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
	return (unsigned)a;
}

FRAME static void hit(uint64_t i, int is_a)
{
	const long n = (long)i;

	if (kind == KIND_WRITE)
		raw_syscall3(SYS_write, null_fd, (long)bytes, is_a ? n % 1000 + 1 : 7);
	else if (kind == KIND_READ)
		raw_syscall3(SYS_read, is_a ? -1 : zero_fd, (long)bytes, n % 100);
	else
		(void)many((int)(is_a ? -n : n), (unsigned)n, 3 * n, -1, -2, 5, 1000 + n, -7);
	STAY();
}

FRAME static void branch_a(uint64_t i) CALLS(hit(i, 1));

FRAME static void middle(uint64_t i) CALLS(hit(i, 0));

FRAME static void branch_b(uint64_t i) CALLS(middle(i));

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_calls; i++) {
		branch_a(i);
		branch_b(i);
	}
	STAY();
}

static void set_kind(const char *name)
{
	static const char *const names[] = { "write", "read", "call" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0) {
			kind = i;
			return;
		}
	exit(2);
}

int main(int argc, char **argv)
{
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	argv = work_begin(argc, argv, 2, "KIND N");
	set_kind(argv[0]);
	n_calls = work_number(argv[1]);
	work_run(run);
	work_expect("branch_a;hit", n_calls);
	work_expect("branch_b;middle;hit", n_calls);
	return 0;
}
