// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

size_t descriptors_hold(int *held, size_t n)
{
	size_t n_held = 0;

	while (n_held < n && (held[n_held] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n_held++;
	return n_held;
}

void descriptors_release(const int *held, size_t n)
{
	while (n > 0)
		(void)close(held[--n]);
}

static int compare_descriptors(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

void descriptors_close_but(int *kept, size_t n)
{
	int fd = 0;

	qsort(kept, n, sizeof(*kept), compare_descriptors);
	for (size_t i = 0; i < n; i++) {
		while (fd < kept[i])
			(void)close(fd++);
		fd += fd == kept[i];
	}
	closefrom(fd);
}

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

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
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
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
	const ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
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
