// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libc N - N calls each of functions of the C library that end in a system call. There are plain
 * ones (getppid), cancellation points (read, write, nanosleep), and ones that map and unmap memory.
 */
#include <fcntl.h>
#include <time.h>

#include "work.h"

static uint64_t n;
static int zero_fd, null_fd;

FRAME static void by_getppid(void)
{
	(void)getppid();
	STAY();
}

FRAME static void by_read(void)
{
	char byte;

	(void)!read(zero_fd, &byte, 1);
	STAY();
}

FRAME static void by_write(void)
{
	(void)!write(null_fd, "", 1);
	STAY();
}

FRAME static void by_nanosleep(void)
{
	const struct timespec t = { 0, 1 };

	(void)nanosleep(&t, NULL);
	STAY();
}

FRAME static void by_malloc(void)
{
	void *volatile memory = malloc(4UL << 20);

	free(memory);
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		by_getppid();
		by_read();
		by_write();
		by_nanosleep();
		by_malloc();
	}
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = open("/dev/null", O_WRONLY);
	work_run(run);
	return 0;
}
