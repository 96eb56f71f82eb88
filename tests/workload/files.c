// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * files PATH N - N times a write of 4096 bytes to PATH and fsync(2). Each reaches,
 * on ext4, ext4_sync_file() once and submit_bio() at least once.
 */
#include <fcntl.h>

#include "work.h"

static uint64_t n;
static int fd;

FRAME static void sync_one(void)
{
	raw_syscall3(SYS_fsync, fd, 0, 0);
	STAY();
}

FRAME static void write_one(uint64_t i)
{
	static char block[4096];

	block[0] = (char)i;
	if (pwrite(fd, block, sizeof(block), (off_t)(i % 64 * sizeof(block))) != sizeof(block))
		exit(1);
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		write_one(i);
		sync_one();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 2, "PATH N");
	fd = open(argv[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(argv[0]);
		return 1;
	}
	n = work_number(argv[1]);
	work_run(run);
	work_expect("sync_one", n);
	return 0;
}
