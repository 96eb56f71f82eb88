/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/channel.h - packets between two processes, and the area, a file in memory for larger data.
 *
 * Functions return a negative errno without a message.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Make a pair of sockets for packets. ret[0] is the main process's end and does not block. ret[1]
 * does.
 */
must_check int channel_pair(int ret[2]);

/*
 * Forbid others to send descriptors to @fd. Closing a received file may take forever, if its file
 * system does not answer. Before Linux 6.16 this does nothing; then only the sandbox keeps parsers
 * from it.
 */
void channel_refuse_descriptors(int fd);

/* Send @n bytes. -EAGAIN: the queue of a non-blocking end is full; -EPIPE: the peer has gone. */
must_check int channel_send(int fd, const void *bytes, size_t n);

/*
 * Receive a packet of exactly @n bytes. The kernel closes descriptors that come with it. Errors:
 * -EBADMSG if it has another length; -EPIPE if the peer has gone, or sent an empty packet.
 */
must_check int channel_receive(int fd, void *to, size_t n);

/* Receive a packet of @least to @most bytes. Returns its length. Errors: as channel_receive(). */
must_check ssize_t channel_receive_some(int fd, void *to, size_t least, size_t most);

/*
 * Send and receive a packet with descriptors, at most CHANNEL_FDS. Neither waits: -EAGAIN.
 * channel_take() returns how many descriptors came; the caller owns them.
 */
#define CHANNEL_FDS 3
must_check int channel_pass(int fd, const void *bytes, size_t n, const int *fds, size_t n_fds);
must_check int channel_take(int fd, void *to, size_t n, int ret_fds[CHANNEL_FDS]);

/*
 * A helper's area: a file in memory of fixed size. The main process never maps it. It copies data
 * with area_read() and checks the copy. So nothing can change after the check, and no read can
 * fault.
 */
must_check int area_new(size_t size, int *ret); /* smaller if RLIMIT_FSIZE is */
size_t area_size(int fd);                       /* 0: unknown */
must_check int area_read(int fd, uint64_t offset, void *to, size_t n);
must_check int area_write(int fd, const void *from, size_t n);
void area_clear(int fd, size_t n); /* free the memory of its first @n bytes */
