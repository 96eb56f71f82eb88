// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No signal interrupts these calls: nobody waits in one on packets, and one call reads or writes a
 * file in memory as a whole.
 */
#include "files/question.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Since Linux commit 105ff5339f49 ("mm/memfd: add MFD_NOEXEC_SEAL and MFD_EXEC") (in v6.3). */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int packet_pair(int ret[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return -errno;
	(void)fcntl(ret[0], F_SETFL, O_NONBLOCK);
	return 0;
}

int packet_send(int fd, const void *bytes, size_t n, int with)
{
	union control control = {};
	struct iovec part = { .iov_len = n };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	memcpy(&part.iov_base, &bytes, sizeof(bytes)); /* not const, but sendmsg(2) only reads it */
	if (with >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.align = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(with)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.align), &with, sizeof(with));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The length without padding leaves room for one descriptor. The kernel closes further ones. */
int packet_receive(int fd, void *to, size_t n, int *ret_with)
{
	union control control = {};
	struct iovec part = { .iov_base = to, .iov_len = n };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = ret_with ? control.bytes : NULL,
				  .msg_controllen = ret_with ? CMSG_LEN(sizeof(int)) : 0 };
	const ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC | MSG_DONTWAIT);
	cleanup_close int with = -1;

	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (CMSG_FIRSTHDR(&message) && control.align.cmsg_type == SCM_RIGHTS)
		memcpy(&with, CMSG_DATA(&control.align), sizeof(with));
	if ((size_t)got != n)
		return got == 0 ? -EPIPE : -EBADMSG;
	if (ret_with)
		*ret_with = TAKE_FD(with);
	return 0;
}

/* RLIMIT_FSIZE holds for files in memory, too. */
static size_t most_area_bytes(size_t wanted)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < wanted)
		return most.rlim_cur;
	return wanted;
}

int area_new(size_t size, int *ret)
{
	cleanup_close int fd = memfd_create("area", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	/* This kernel does not know the flag. Kernels that do may insist on it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)most_area_bytes(size)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

size_t area_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (size_t)st.st_size;
}

int area_read(int fd, uint64_t offset, void *to, size_t n)
{
	const ssize_t got = pread(fd, to, n, (off_t)offset);

	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EBADMSG;
}

int area_write(int fd, uint64_t offset, const void *from, size_t n)
{
	const ssize_t put = pwrite(fd, from, n, (off_t)offset);

	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EFBIG;
}

void area_clear(int fd, size_t n)
{
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)n);
}
