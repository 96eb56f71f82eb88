/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/asking.h - ask helpers (helper/client.h), and warn once of the loss without them.
 *
 * It asks openers for nothing in places that do not answer (reader/devices.h).
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
	struct client *client;           /* lent; NULL: there are no helpers */
	struct devices *devices;         /* lent */
	uint64_t late[ASKING_MOST_LATE]; /* places of requests whose callers gave up; 0: free */
	struct log_few words;            /* warnings about files that were read in part */
	const char *lost;                /* the loss: "user stacks may be cut (no unwind table)" */
	bool has_warned_absence;
	bool has_logged_layers[READER_ROLES];
};

/* Print how many warnings were left out. Frees nothing else. */
void asking_fini(struct asking *a);

/*
 * As client_ask(), with its lock held. -EAGAIN: the place what->place does not answer, now or to an
 * earlier request.
 */
must_check int asking_ask(struct asking *a, unsigned role, struct ask *what, const void *payload,
			  struct lane_event *ret, struct error *e);

/* As client_address(). */
must_check int asking_address(struct asking *a, unsigned role, uint32_t *ret_files,
			      int32_t *ret_pid, struct error *e);

/* Warn once if @err of an opener says that the system has no descriptors left. */
void asking_note_shortage(const struct asking *a, int err);

/* Call this from client_late, with the late outcome of a request. */
void asking_note_late(struct asking *a, const struct lane_event *event);

/*
 * Print the words of a parser's answer: they say which part of a file it left out. Only the first
 * few are printed.
 */
void asking_print_words(struct asking *a, const struct lane_event *event);

/* Does @err stem from a helper, a file system or a limit? Then a later request may succeed. */
bool asking_is_passing(int err);

/* Did the lane end the helper because it took too long? */
bool asking_took_too_long(const struct lane_event *event);

/*
 * Returns a copy of the answer's area, which the caller frees: no helper can change it after a
 * check. NULL: it cannot be read.
 */
char *asking_copy(const struct lane_event *event);
