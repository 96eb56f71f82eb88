// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * arch/x86/kernel/uprobes.c refuses instructions with a lock prefix, or with a segment prefix other
 * than fs and gs (is_prefix_bad()). Some libcs' pthread_spin_lock begins with one:
 *
 *	f0 ff 0f	lock decl (%rdi)
 *
 * VEX and EVEX encoded instructions come here only if the kernel takes their opcode (for others see
 * match/verdict.c). But it refuses those that are newer than its decoder.
 */
#include "attach/instruction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#if defined(__x86_64__)

enum byte_class { BYTE_OPCODE, BYTE_PREFIX, BYTE_SUSPICIOUS };

static enum byte_class classify_byte(uint8_t byte)
{
	switch (byte) {
	case 0x66: /* operand size */
	case 0x67: /* address size */
	case 0x64: /* fs */
	case 0x65: /* gs */
	case 0xf2: /* repne */
	case 0xf3: /* rep */
		return BYTE_PREFIX;
	case 0x26: /* es */
	case 0x2e: /* cs */
	case 0x36: /* ss */
	case 0x3e: /* ds */
	case 0xf0: /* lock */
	case 0x62: /* EVEX */
	case 0xc4: /* VEX */
	case 0xc5:
		return BYTE_SUSPICIOUS;
	default:
		return BYTE_OPCODE;
	}
}

bool instruction_may_be_refused(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum byte_class class = classify_byte(bytes[i]);

		if (class != BYTE_PREFIX)
			return class == BYTE_SUSPICIOUS;
	}
	return true; /* prefixes alone, or nothing */
}

#else

bool instruction_may_be_refused(const uint8_t *bytes, size_t n)
{
	(void)bytes;
	return n == 0;
}

#endif

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
	uint8_t bytes[INSTRUCTION_MAX];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);

	return n >= 0 && instruction_may_be_refused(bytes, (size_t)n);
}
