/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/lanes.h - the main process's side: a lane has helpers for one thread, asks them, ends one
 * that takes too long or makes no sense, and makes another one in its place. Nothing here waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper/protocol.h"
#include "helper/warden.h"

/*
 * A lane for these roles (borrowed), as the warden has them. It owns @control, its socket to the
 * warden. NULL: out of descriptors; @control is closed.
 */
struct lane *lane_new(int control, const struct role *roles, size_t n_roles);
void lane_free(struct lane *l);

/*
 * Call @heard from within lane_next() when helper @pid has been made, before it does anything, and
 * when it has ended. With @pid 0: all have.
 */
typedef void lane_heard(void *context, pid_t pid, bool is_there);
void lane_hear(struct lane *l, lane_heard *heard, void *context);

/* Readable when lane_next() may have something: for epoll_wait(2). The lane's. */
int lane_fd(const struct lane *l);

/*
 * Have a helper of @role made, if there is none: before it is needed. False: there will be none
 * soon; LANE_UNABLE has said why.
 */
bool lane_want(struct lane *l, unsigned role);

/*
 * Ask a helper of @role. @ask->n_bytes of @payload go with it. @ask->number is filled in.
 * Returns 0, or
 *	-EAGAIN  none is free, or one is being made: again when lane_fd() was readable and
 *		 lane_next() has nothing more
 *	-ENOTCONN  there is none, and will be none soon: LANE_UNABLE has said why
 *	-EFBIG  the payload is larger than the area
 */
int lane_ask(struct lane *l, unsigned role, struct ask *ask, const void *payload);

enum lane_what {
	LANE_ANSWER, /* to @number: @answer and @area */
	LANE_FAILED, /* there will be no answer to @number: @why */
	LANE_UNABLE, /* a helper of @role could not start: @words, or else @why, say why */
	LANE_OVER,   /* the warden has ended, and all helpers with their requests */
};

enum lane_why {
	LANE_DIED,  /* by @status */
	LANE_SLOW,  /* and was ended */
	LANE_LIED,  /* its answer made no sense, and it was ended */
	LANE_STUCK, /* was killed, but does not end; see @in_call */
};

struct lane_event {
	enum lane_what what;
	enum lane_why why;
	unsigned role;
	uint32_t number;
	struct ask ask;  /* the request with @number */
	int status;      /* of wait(2) */
	pid_t in_call;   /* STUCK: the helper, if it hangs in the kernel (state D); else 0 */
	uint32_t n_left; /* helpers that are left behind, of all lanes, as the warden last said */
	uint64_t cpu_ns; /* that the request took, by the kernel's account */
	uint32_t layers; /* that hold for who answers (sandbox.h) */
	struct answer answer;
	int area; /* for area_read(), until the next call to the lane */
	char words[96];
};

/*
 * What has happened. False: nothing more for now. What lies ready is taken before times
 * are looked at, so it is not late because we were.
 */
bool lane_next(struct lane *l, struct lane_event *ret);

/* The contents of the last event's area make no sense: end who wrote them. */
void lane_distrust(struct lane *l);

/* The run ends: helpers that there are now come to an end with what may take long (cpu_budget.h).
 */
void lane_hurry(struct lane *l);

/* For openers: where a helper of @role is sent files. False: it is not ready. */
bool lane_address(const struct lane *l, unsigned role, uint32_t *ret_files, int32_t *ret_pid);
