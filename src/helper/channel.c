// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No signal interrupts these calls. Helpers have no signal handlers, the main process's ends do not
 * block, and one call reads or writes a file in memory as a whole.
 */
#include "helper/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Since Linux commit 77cbe1a6d873 ("af_unix: Introduce SO_PASSRIGHTS.") (in v6.16). */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Since Linux commit 105ff5339f49 ("mm/memfd: add MFD_NOEXEC_SEAL and MFD_EXEC") (in v6.3). */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(CHANNEL_FDS * sizeof(int))];
};

int channel_pair(int ret[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return -errno;
	(void)fcntl(ret[0], F_SETFL, O_NONBLOCK);
	return 0;
}

void channel_refuse_descriptors(int fd)
{
	const int none = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &none, sizeof(none));
}

/* Uses send(2), because a parser may not call sendmsg(2). */
int channel_send(int fd, const void *bytes, size_t n)
{
	return send(fd, bytes, n, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t channel_receive_some(int fd, void *to, size_t least, size_t most)
{
	const ssize_t n = recv(fd, to, most, MSG_TRUNC);

	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	return (size_t)n >= least && (size_t)n <= most ? n : -EBADMSG;
}

int channel_receive(int fd, void *to, size_t n)
{
	const ssize_t got = channel_receive_some(fd, to, n, n);

	return got < 0 ? (int)got : 0;
}

int channel_pass(int fd, const void *bytes, size_t n, const int *fds, size_t n_fds)
{
	union control control = {};
	struct iovec part = { .iov_len = n };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	memcpy(&part.iov_base, &bytes, sizeof(bytes)); /* not const, but sendmsg(2) only reads it */
	if (n_fds) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));

		struct cmsghdr *head = &control.align;

		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(head), fds, n_fds * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Write the descriptors of @message to @ret. Returns how many. */
static size_t descriptors_of(struct msghdr *message, int ret[CHANNEL_FDS])
{
	struct cmsghdr *head = CMSG_FIRSTHDR(message);

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return 0;

	/* Alignment makes room for four. */
	const size_t n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	const size_t n_taken = n < CHANNEL_FDS ? n : CHANNEL_FDS;

	memcpy(ret, CMSG_DATA(head), n_taken * sizeof(int));
	for (size_t i = n_taken; i < n; i++) {
		int more;

		memcpy(&more, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
		(void)close(more);
	}
	return n_taken;
}

int channel_take(int fd, void *to, size_t n, int ret_fds[CHANNEL_FDS])
{
	union control control = {};
	struct iovec part = { .iov_base = to, .iov_len = n };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC | MSG_DONTWAIT);

	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;

	const size_t n_fds = descriptors_of(&message, ret_fds);

	if ((size_t)got == n)
		return (int)n_fds;
	for (size_t i = 0; i < n_fds; i++)
		(void)close(ret_fds[i]);
	return got == 0 ? -EPIPE : -EBADMSG;
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

int area_write(int fd, const void *from, size_t n)
{
	const ssize_t put = pwrite(fd, from, n, 0);

	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EFBIG;
}

void area_clear(int fd, size_t n)
{
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)n);
}
