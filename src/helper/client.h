/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/client.h - ask a lane's helpers and wait for the answer.
 *
 * For threads that may wait. One thread asks at a time.
 */
#pragma once

#include "base/error.h"
#include "helper/lanes.h"

struct client;

/* The client owns @lane. NULL: out of descriptors. */
struct client *client_new(struct lane *lane);
void client_free(struct client *c);

/* Hold the lock while you ask and while you read an answer's area. It is not recursive. */
void client_lock(struct client *c);
void client_unlock(struct client *c);

/*
 * Hold the lock for this and all functions below, except where a comment says otherwise. A client
 * that nobody asks may be set up without it.
 *
 * Make a helper of @role ahead of time, and let helpers begin that the warden has made. Does not
 * wait.
 */
void client_prepare(struct client *c, unsigned role);

/* A wait for a helper. */
struct client_wait {
	unsigned role;
	bool is_roots;   /* ask->is_roots of the request */
	uint64_t ns;     /* waited since the last call of is_enough() */
	uint64_t all_ns; /* waited in this call of a function below */
	bool is_stopped; /* its helper is, as looked at each CLIENT_SERVE_MS */
};

/*
 * How a client waits. A zeroed one waits until an answer comes or the lane gives up
 * (role->wall_ns).
 */
struct client_manner {
	uint64_t patience_ns; /* bound for all waiting of one call; 0: none */
	/*
	 * Called when a call begins, and each CLIENT_SERVE_MS while it waits. May not ask. May be
	 * NULL.
	 */
	void (*serve)(void *context);
	/*
	 * Called before a request, and after each wait. True: nobody sends the request, or waits
	 * for it any more. May be NULL.
	 */
	bool (*is_enough)(void *context, const struct client_wait *wait);
	void *context;
};
#define CLIENT_SERVE_MS 20

void client_set_manner(struct client *c, const struct client_manner *manner);

/*
 * Call @late when an outcome of a request comes that nobody waits for any more: a LANE_ANSWER,
 * whose area is valid during the call, or LANE_FAILED. The caller of a function here holds the lock
 * then. @late may not ask. NULL: drop such outcomes.
 */
typedef void client_late(void *context, const struct lane_event *event);
void client_set_late(struct client *c, client_late *late, void *context);

/*
 * Ask and wait. Returns 0 with the answer in @ret, valid until the next call. Errors:
 *	-ECANCELED  client_end() was called
 *	-ENOTCONN   there is no helper; @e gives the reason
 *	-EINTR      is_enough() ended the wait. Its helper is ended, too.
 *	-ETIME      the patience ended the wait.
 *		    After these two, @ask->number is 0 if no helper has the request. Else
 *		    client_set_late() passes on its outcome.
 *	-EFBIG      the payload is too large
 *	-EIO        the helper failed at the request: see ret->why and ret->status
 */
must_check int client_ask(struct client *c, unsigned role, struct ask *ask, const void *payload,
			  struct lane_event *ret, struct error *e);

/*
 * Wait for a helper of @role, unless there is one. @ret_files and @ret_pid say where it receives
 * files. Errors: as client_ask().
 */
must_check int client_address(struct client *c, unsigned role, uint32_t *ret_files,
			      int32_t *ret_pid, struct error *e);

/* Does a helper of @role sleep in a call, of a request? On a busy machine it may wait for a CPU. */
bool client_waits_in_call(const struct client *c, unsigned role);

/* The contents of the last answer make no sense: end its helper. */
void client_distrust(struct client *c);

/* lane_hurry(). Call it with the lock held, or from within @serve. */
void client_hurry(struct client *c);

/* Let all waiting calls return, and later ones not wait. Needs no lock. */
void client_end(struct client *c);

/* Write how a helper failed at a request: "its reader was ended by signal 7 (Bus error)". */
void client_explain(const struct lane_event *event, char *to, size_t size);
