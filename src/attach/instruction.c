// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/instruction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"

/*
 * By now another file may be there: a FIFO, which would wait for its writer, or one with a lease.
 */
int instruction_open(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? TAKE_FD(fd) : -1;
}

bool instruction_at_may_be_refused(int fd, uint64_t offset)
{
	uint8_t bytes[ARCH_INSTRUCTION_BYTES];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);

	return n >= 0 && arch_may_refuse_uprobe(bytes, (size_t)n);
}
