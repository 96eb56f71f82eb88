/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/warden.h - the process that makes helpers, ends them, and reports their ends.
 *
 * The main process forks it before it opens anything. So the warden has no BPF descriptor, no
 * thread and no secret. Neither have the helpers that it forks. It executes no program, so it works
 * for a deleted binary, in a static one, and in a sandbox that forbids execve.
 *
 * It shares its table of descriptors with all openers. A handle (O_PATH) that an opener puts there
 * outlives the opener, and others name it by its number. The kernel asks no file system to close
 * such a handle. Parsers have tables of their own.
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
	int controls[WARDEN_LANES]; /* -1: a lane has taken it */
};

#define WARDEN_NONE                            \
	(struct warden)                        \
	{                                      \
		.controls = { -1, -1, -1, -1 } \
	}

/*
 * A helper that has not ended so long after it was killed hangs in a file system. It is left
 * behind. With WARDEN_MOST_LEFT of them the warden makes no more helpers.
 */
#define WARDEN_LEFT_AFTER_NS 200000000ULL
#define WARDEN_MOST_LEFT 4

/*
 * Fork the warden, with @n_roles @roles. The process may have only one thread. Errors: those of
 * fork(2) and socketpair(2).
 */
must_check int warden_start(const struct role *roles, size_t n_roles, struct warden *ret,
			    struct error *e);

/* Returns the socket of lane @lane. The caller owns it. */
int warden_take_control(struct warden *w, unsigned lane);

/*
 * Close the sockets that no lane has taken. The warden ends when all lanes are closed. Nobody waits
 * for it.
 */
void warden_fini(struct warden *w);
