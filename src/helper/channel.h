/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/channel.h - packets between two processes, and the area: a file in memory for what does
 * not fit into one. Functions return a negative errno: there is nothing to add to it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* A pair of sockets for packets. [0] is the main process's end and does not block. [1] does. */
must_check int channel_pair(int ret[2]);

/*
 * Let nobody send descriptors to @fd: to close a file of a file system that does not answer may
 * take forever. Before Linux 6.16 this does nothing, and the sandbox alone keeps parsers from it.
 */
void channel_refuse_descriptors(int fd);

/* Send @n bytes. -EAGAIN: a queue is full (ends that do not block); -EPIPE: the peer has gone. */
must_check int channel_send(int fd, const void *bytes, size_t n);

/*
 * Receive a packet of @n bytes exactly. -EBADMSG: it has another length; -EPIPE: the peer has gone,
 * or has sent an empty one. Descriptors that come with it are closed.
 */
must_check int channel_receive(int fd, void *to, size_t n);

/* The same with a packet of any length from @least to @most. Returns its length. */
must_check ssize_t channel_receive_some(int fd, void *to, size_t least, size_t most);

/*
 * Send and receive with descriptors, CHANNEL_FDS at most. Neither waits: -EAGAIN. channel_take()
 * returns how many came; they are the caller's.
 */
#define CHANNEL_FDS 3
must_check int channel_pass(int fd, const void *bytes, size_t n, const int *fds, size_t n_fds);
must_check int channel_take(int fd, void *to, size_t n, int ret_fds[CHANNEL_FDS]);

/*
 * The area of a helper, of @size bytes for ever, which area_size() gives. The main process never
 * maps it: it copies by area_read() and checks the copy, so nothing changes under the check, and no
 * read can fault.
 */
must_check int area_new(size_t size, int *ret); /* less, where RLIMIT_FSIZE is less */
size_t area_size(int fd);                       /* 0: not known */
must_check int area_read(int fd, uint64_t offset, void *to, size_t n);
must_check int area_write(int fd, const void *from, size_t n);
void area_clear(int fd, size_t n); /* give the memory of its first @n bytes back */
