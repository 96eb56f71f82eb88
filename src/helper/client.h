/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/client.h - ask a lane's helpers and wait for the answer: for threads that may wait. One
 * thread asks at a time.
 */
#pragma once

#include "base/error.h"
#include "helper/lanes.h"

struct client;

/* @lane is handed over. NULL: out of descriptors. */
struct client *client_new(struct lane *lane);
void client_free(struct client *c);

/* For as long as an answer's area is read; recursion is not possible. */
void client_lock(struct client *c);
void client_unlock(struct client *c);

/*
 * The rest is to be called with the lock. Have a helper of @role made, and let those begin that
 * are: before it is needed. Does not wait.
 */
void client_prepare(struct client *c, unsigned role);

/* How a client waits. A zeroed one: until there is an answer, or the lane gives up (role->wall_ns).
 */
struct client_manner {
	uint64_t patience_ns;         /* for all waiting of one call; 0: no bound of its own */
	void (*serve)(void *context); /* called each CLIENT_SERVE_MS meanwhile; NULL: nothing is.
					 It may not ask this client */
	/* Looked at likewise: is it enough, after waiting for @role for so long? NULL: never. */
	bool (*is_enough)(void *context, unsigned role, uint64_t waited_ns);
	void *context;
};
#define CLIENT_SERVE_MS 20

void client_set_manner(struct client *c, const struct client_manner *manner);

/*
 * Call @late, with the lock and from within a call here, when something has come of a request that
 * nobody waits for any more: a LANE_ANSWER, whose area is valid meanwhile, or LANE_FAILED. @late
 * may not ask. NULL: nobody does.
 */
typedef void client_late(void *context, const struct lane_event *event);
void client_hear_late(struct client *c, client_late *late, void *context);

/*
 * Ask and wait. Returns 0 with the answer in @ret, valid until the next call. Errors:
 *	-ECANCELED  client_end() was called
 *	-ENOTCONN   there is no helper, and @e says why
 *	-ETIME      it is enough, or patience is over. @ask->number is 0 if no helper has the
 *		    request. Else client_hear_late() tells what comes of it.
 *	-EFBIG      the payload is too large
 *	-EIO        the helper failed at it: ret->why and ret->status
 */
must_check int client_ask(struct client *c, unsigned role, struct ask *ask, const void *payload,
			  struct lane_event *ret, struct error *e);

/* Wait until a helper of @role is there, and say where it takes files. Errors: as above. */
must_check int client_address(struct client *c, unsigned role, uint32_t *ret_files,
			      int32_t *ret_pid, struct error *e);

/* The answer's contents make no sense: its helper is ended. */
void client_distrust(struct client *c);

/* lane_hurry(): to be called with the lock, or from within @serve. */
void client_hurry(struct client *c);

/* All who wait return, and nobody waits any more. Needs no lock. */
void client_end(struct client *c);

/* How a helper failed at a request: "its reader was ended by signal 7 (Bus error)". */
void client_explain(const struct lane_event *event, char *to, size_t size);
