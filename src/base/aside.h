/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/aside.h - run work that a foreign file may hold up in a forked copy of this process.
 *
 * A file system that does not answer can hang a process where no signal reaches it. The caller
 * does not touch the file, so it can give up, and take a Ctrl-C meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Does the work and sends the result to @channel. The process ends when the function returns. */
typedef void aside_work(void *argument, int channel);

#define ASIDE_LOOK_MS 100

struct aside {
	pid_t pid;       /* 0: no process */
	int channel;     /* a stream socket for bytes and descriptors */
	int messages;    /* its standard error, which we copy to ours */
	uint64_t cpu_ns; /* its CPU time at the last check */
	unsigned n_still, most_still;
};

#define ASIDE_NONE                             \
	(struct aside)                         \
	{                                      \
		.channel = -1, .messages = -1, \
	}

/*
 * Fork the process, which runs work(@argument). It inherits all descriptors but the standard ones,
 * so no reader of our output waits for its end. The kernel kills it when we end. It hangs after
 * @most_still checks in a row, ASIDE_LOOK_MS apart, in which it used no CPU time and was not
 * runnable.
 * Errors: no socket, pipe or process can be made. Call aside_end() after an error, too.
 */
must_check int aside_start(struct aside *a, unsigned most_still, aside_work *work, void *argument,
			   struct error *e);

/*
 * Wait for @n bytes, or for a descriptor, which the caller then owns. These return a code without
 * words; aside_explain() gives the words:
 * -ETIMEDOUT  the process hangs
 * -EPIPE      it has ended
 * -EMFILE     there is no room for the descriptor
 */
must_check int aside_read(struct aside *a, void *to, size_t n);
must_check int aside_take(struct aside *a, int *ret_fd);

/* Put the words for such a code into @e, for work on file @name. Returns @code. */
must_check int aside_explain(int code, const char *name, struct error *e);

/* Kill the process, wait at most 0.1 s for its end, and close the descriptors. A process that
 * hangs is left behind. */
void aside_end(struct aside *a);

/* In the process: send bytes, or a descriptor. False: the other end is closed. */
bool aside_write(int channel, const void *bytes, size_t n);
bool aside_pass(int channel, int fd);
