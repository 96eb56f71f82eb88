/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/descriptors.h - file descriptors: reserve free ones, close all but a few, pass one on. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/*
 * Reserve @n free descriptors, or as many as there are, in @held. Returns their number. Other
 * threads may find none free until descriptors_release().
 */
size_t descriptors_hold(int *held, size_t n);
void descriptors_release(const int *held, size_t n);

/* Close all descriptors but the @n in @kept. Sorts @kept, and ignores negative numbers in it. */
void descriptors_close_but(int *kept, size_t n);

/*
 * Send @n bytes, with descriptor @with if it is not -1. Returns 0 or a negative errno. -EAGAIN: the
 * queue of a non-blocking socket is full; -EPIPE: the peer has gone.
 */
must_check int packet_send(int fd, const void *bytes, size_t n, int with);

/*
 * Receive a packet of exactly @n bytes. If @ret_with is not NULL, the caller owns *@ret_with, -1 if
 * there is none; else the kernel closes descriptors. Returns 0 or a negative errno. -EAGAIN: a
 * non-blocking socket has no packet; -EBADMSG: it has another length; -EPIPE: the peer has gone, or
 * sent an empty packet.
 */
must_check int packet_receive(int fd, void *to, size_t n, int *ret_with);
