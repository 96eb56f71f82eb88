/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/warden.h - the process that makes helpers, ends them, and says when one has ended.
 *
 * It is forked from the main process before anything else is opened. So it has no BPF descriptor,
 * no thread and no secret, and neither have the helpers that it forks. No program is executed: it
 * works for a deleted binary, in a static one, and where nothing may be executed.
 *
 * It shares its table of descriptors with all openers. An O_PATH handle that an opener has put
 * there outlives the opener, and is a number for whoever asks. The kernel calls no file system to
 * close such a handle. Parsers have a table of their own.
 *
 * It ends with the main process, and all helpers end with it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "helper/seat.h"

/* Each lane has a socket of its own to the warden, so threads need no lock. */
#define WARDEN_LANES 4

struct warden {
	pid_t pid;
	int controls[WARDEN_LANES]; /* -1: taken by a lane */
};

#define WARDEN_NONE                            \
	(struct warden)                        \
	{                                      \
		.controls = { -1, -1, -1, -1 } \
	}

/*
 * A helper that was killed and has not ended after this time hangs in a file system, and is left
 * behind. With so many of them the warden makes no more.
 */
#define WARDEN_LEFT_AFTER_NS 200000000ULL
#define WARDEN_MOST_LEFT 4

/*
 * Fork the warden, with @n_roles @roles. To be called while there is one thread.
 * Errors: that of fork(2) or socketpair(2).
 */
must_check int warden_start(const struct role *roles, size_t n_roles, struct warden *ret,
			    struct error *e);

/* The socket of lane @lane, which is the caller's from now on. */
int warden_take_control(struct warden *w, unsigned lane);

/* Close what no lane has taken. The warden ends when all lanes are closed; nobody waits for it. */
void warden_fini(struct warden *w);
