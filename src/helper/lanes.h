/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/lanes.h - the main process's side of its helpers.
 *
 * A lane has helpers for one thread. It asks them, ends a helper that takes too long or answers
 * nonsense, and makes another one in its place. Nothing here waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper/protocol.h"
#include "helper/warden.h"

/*
 * Make a lane for the warden's roles, which it borrows. It owns @control, its socket to the warden.
 * NULL: out of descriptors; @control is closed.
 */
struct lane *lane_new(int control, const struct role *roles, size_t n_roles);
void lane_free(struct lane *l);

/*
 * Call @heard from within lane_next() when the warden has made helper @pid, before the helper
 * begins, and when it has ended. @pid 0: all helpers have ended.
 */
typedef void lane_heard(void *context, pid_t pid, bool is_there);
void lane_hear(struct lane *l, lane_heard *heard, void *context);

/* Readable if lane_next() may have an event: for epoll_wait(2). Lent by @l. */
int lane_fd(const struct lane *l);

/*
 * Make a helper of @role ahead of time, if there is none. False: there will be none soon, and a
 * LANE_UNABLE gave the reason.
 */
bool lane_want(struct lane *l, unsigned role);

/*
 * Ask a helper of @role, with @ask->n_bytes of @payload. Sets @ask->number. Returns 0, or
 *	-EAGAIN    none is free yet: try again when lane_fd() was readable and lane_next() has
 *		   no more events
 *	-ENOTCONN  there will be none soon, and a LANE_UNABLE gave the reason
 *	-EFBIG     the payload is larger than the area
 */
int lane_ask(struct lane *l, unsigned role, struct ask *ask, const void *payload);

enum lane_what {
	LANE_ANSWER, /* the answer to @number: @answer and @area */
	LANE_FAILED, /* no answer to @number will come: see @why */
	LANE_UNABLE, /* no helper of @role could start: see @words, or else @why */
	LANE_OVER,   /* the warden has ended, with all helpers and their requests */
};

enum lane_why {
	LANE_DIED,   /* see @status; also: a signal stopped it, and the lane ended it */
	LANE_SLOW,   /* it worked for too long, and the lane ended it */
	LANE_SILENT, /* it slept in a call for too long, and the lane ended it */
	LANE_LIED,   /* its answer made no sense, and the lane ended it */
	LANE_STUCK,  /* it was killed, but sleeps in a call: see @in_call */
};

struct lane_event {
	enum lane_what what;
	enum lane_why why;
	unsigned role;
	uint32_t number;
	struct ask ask;  /* the request with @number */
	int status;      /* of wait(2) */
	pid_t in_call;   /* LANE_STUCK: the helper, if it hangs in the kernel (state D); else 0 */
	uint32_t n_left; /* helpers left behind, of all lanes, as the warden last reported */
	uint64_t cpu_ns; /* CPU time of the request, by the kernel's account */
	uint32_t layers; /* layers of the helper's sandbox that hold (sandbox.h) */
	struct answer answer;
	int area; /* for area_read(), until the next call to the lane */
	char words[96];
};

/*
 * Get the next event. False: none for now. It reads waiting packets before it checks deadlines. So
 * an answer is not late because the caller is.
 */
bool lane_next(struct lane *l, struct lane_event *ret);

/* The contents of the last event's area make no sense: end the helper that wrote them. */
void lane_distrust(struct lane *l);

/* Nobody waits for request @number any more: end its helper, so that others need not wait for it.
 */
void lane_give_up(struct lane *l, uint32_t number);

/* Is a helper of @role, with a request, in @state (proc(5))? 'T': a signal has stopped it. */
bool lane_has_in_state(const struct lane *l, unsigned role, char state);

/* The run ends: present helpers stop work that may take long (base/cpu_budget.h). */
void lane_hurry(struct lane *l);

/* Where openers send files for a helper of @role. False: no helper is ready. */
bool lane_address(const struct lane *l, unsigned role, uint32_t *ret_files, int32_t *ret_pid);
