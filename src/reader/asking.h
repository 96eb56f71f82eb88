/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/asking.h - ask helpers (helper/client.h), and say once what the user loses without them.
 * Openers are not asked for places that do not answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "helper/client.h"
#include "reader/asks.h"
#include "reader/devices.h"

#define ASKING_MOST_LATE 8 /* more requests than a lane has openers */

struct asking {
	struct client *client;           /* lent. NULL: there are no helpers */
	struct devices *devices;         /* lent */
	uint64_t late[ASKING_MOST_LATE]; /* places of requests that nobody waits for any more, 0s */
	struct log_few words;            /* about files that are not read as a whole */
	const char *lost; /* without them: "user stacks may be cut (no unwind table)" */
	bool was_absence_told, was_shortage_told, was_patience_told;
	bool were_layers_told[READER_ROLES];
};

/* Say what is to be said at the end. */
void asking_fini(struct asking *a);

/*
 * As client_ask(), with its lock. An opener is asked for something of what->place, and -EAGAIN says
 * that this does not answer: now, or to a request before.
 */
must_check int asking_ask(struct asking *a, unsigned role, struct ask *what, const void *payload,
			  struct lane_event *ret, struct error *e);

/* As client_address(). */
must_check int asking_address(struct asking *a, unsigned role, uint32_t *ret_files,
			      int32_t *ret_pid, struct error *e);

/* @err is an opener's: the system may have no descriptors left. */
void asking_note_shortage(struct asking *a, int err);

/* To be called for client_late: what comes of a request that nobody waits for. */
void asking_note_late(struct asking *a, const struct lane_event *event);

/* A parser's answer about names may say what was left out of its file. The first few are said. */
void asking_tell_words(struct asking *a, const struct lane_event *event);

/* Was the helper ended because it did not answer in time? */
bool asking_took_too_long(const struct lane_event *event);

/* A copy of the answer's area, to free(): what is checked does not change any more. NULL: none. */
char *asking_copy(const struct lane_event *event);
