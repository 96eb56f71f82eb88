/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * base/aside.h - work that a foreign file may hold up, in a process of its own: a copy of this one.
 *
 * In a file system that does not answer a process may hang where no signal reaches it. Only one
 * that has nothing to do with the file can give up then, and take a Ctrl-C meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Does the work and sends what comes of it to @channel. Its process ends behind it. */
typedef void aside_work(void *argument, int channel);

struct aside_bounds {
	uint64_t cpu_ns; /* since aside_begin(); 0: none */
	unsigned looks;  /* so often in a row, every ASIDE_LOOK_MS, it neither ran nor was to run */
};
#define ASIDE_LOOK_MS 100

struct aside {
	struct aside_bounds bounds;
	pid_t pid;    /* 0: none */
	int channel;  /* a stream of bytes, and descriptors among them */
	int messages; /* its standard error, which is copied to ours */
	uint64_t cpu_ns, since_ns;
	unsigned n_still;
};

#define ASIDE_NONE                             \
	(struct aside)                         \
	{                                      \
		.channel = -1, .messages = -1, \
	}

/*
 * Make the process. It has all descriptors but the standard ones, so that nobody waits for it at
 * the other end of a pipe, and ends with us. Errors: no process can be made.
 */
must_check int aside_start(struct aside *a, const struct aside_bounds *bounds, aside_work *work,
			   void *argument, struct error *e);

/* What is bounded by CPU time begins anew. */
void aside_begin(struct aside *a);

/*
 * Wait for @n bytes, or a descriptor, which is the caller's. Nothing is added to these codes:
 * -ETIMEDOUT  it hangs
 * -ETIME      it takes too much CPU time
 * -EPIPE      it has ended
 */
must_check int aside_read(struct aside *a, void *to, size_t n);
must_check int aside_take(struct aside *a, int *ret_fd);

/* Does process @pid run, or wait for a CPU? Otherwise it may hang. */
bool aside_is_to_run(pid_t pid);

/* What such a code says of work on @name. */
must_check int aside_explain(const struct aside *a, int code, const char *name, struct error *e);

/* End the process. One that hangs is left behind. */
void aside_end(struct aside *a);

/* In the process: close all descriptors but the standard ones and *@channel, which moves. */
void aside_close_others(int *channel);

/* Likewise. False: nobody reads. */
bool aside_write(int channel, const void *bytes, size_t n);
bool aside_pass(int channel, int fd);
