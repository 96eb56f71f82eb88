/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/packets.h - packets between the main process and the zygote, and the area, a file in memory
 * for larger data.
 *
 * Functions return a negative errno without a message.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Make a pair of sockets for packets. ret[0] is the main process's end and does not block. */
must_check int packet_pair(int ret[2]);

/*
 * Send @n bytes, with descriptor @with if it is not -1. Does not wait. -EAGAIN: the queue is full;
 * -EPIPE: the peer has gone.
 */
must_check int packet_send(int fd, const void *bytes, size_t n, int with);

/*
 * Receive a packet of exactly @n bytes. Does not wait. If @ret_with is not NULL, the caller owns
 * *@ret_with, -1 if there is none; else the kernel closes descriptors. Errors: -EAGAIN there is no
 * packet; -EBADMSG it has another length; -EPIPE the peer has gone, or sent an empty packet.
 */
must_check int packet_receive(int fd, void *to, size_t n, int *ret_with);

/* Make an area of @size bytes, or of fewer if RLIMIT_FSIZE is lower. */
must_check int area_new(size_t size, int *ret);
size_t area_size(int fd); /* 0: unknown */
must_check int area_read(int fd, uint64_t offset, void *to, size_t n);
must_check int area_write(int fd, uint64_t offset, const void *from, size_t n);
void area_clear(int fd, size_t n); /* free the memory of its first @n bytes */
