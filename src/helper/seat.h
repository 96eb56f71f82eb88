/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* helper/seat.h - a helper's side: what it has, and how it answers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper/held.h"
#include "helper/protocol.h"
#include "helper/sandbox.h"

/* What a helper has. Nothing else of ours is open in a parser. */
struct seat {
	int channel;
	int files;  /* a parser's: where openers send it files; -1: an opener */
	char *area; /* shared with the main process, @n_area bytes */
	size_t n_area;
};

/*
 * Answer @ask, whose payload is @payload, by filling in @answer, and the area. The answer's number
 * is set. @payload is valid until the call is over. @state is the helper's own.
 */
typedef void seat_answer(void *state, struct seat *seat, const struct ask *ask, const void *payload,
			 struct answer *answer);

/* Answer what the main process asks until it goes. */
void seat_serve(struct seat *seat, seat_answer *answer, void *state);

/*
 * An opener: send open file @fd to a parser. @files is what MADE named for it. Never waits:
 * -EAGAIN if the parser has not taken the ones before. @fd stays the caller's.
 */
int seat_pass(int files, struct passed_file what, int fd);

/* A parser: a file that was sent, or -EAGAIN if there is none. Its descriptor is the caller's. */
int seat_take(const struct seat *seat, struct passed_file *ret, int *ret_fd);

/* A kind of helper. The table of these is the caller's, and lives as long as the run. */
struct role {
	const char *name; /* as ps(1) shows it; 15 bytes at most */
	enum sandbox sandbox;
	void (*run)(struct seat *seat); /* in the new process, which ends behind it */
	size_t n_area;                  /* bytes */
	uint64_t cpu_ns;                /* bound for a request; 0: none */
	uint64_t wall_ns;               /* likewise, and for its start; never 0 */
	uint64_t spare_after_ns;        /* another one if all are busy for so long; 0: never */
	unsigned most;                  /* of them in a lane */
	const char *const *names;       /* by lanes; NULL: @name serves in all */
};

/* -- For the warden. -- */

/* Descriptors from here on are files of openers. Those below are the warden's and its helpers'. */
#define SEAT_OURS 64
#define SEAT_MOST_FILES 65536

struct seat_start {
	pid_t warden;
	int life; /* a pidfd of it; -1: before Linux 5.3 */
	unsigned lane;
	unsigned child;
	int channel, area;    /* within the warden's table */
	struct held *held;    /* of all children */
	const int32_t *stale; /* descriptors of killed openers, for an opener to close */
	size_t n_stale;
	bool can_leave; /* that table is shared, and close_range(2) leaves it; else it is a copy */
};

/* What a new process does: take its seat, enter its sandbox, say so, work. */
_Noreturn void seat_begin(const struct role *role, const struct seat_start *start);

/* End when the parent does. @life: a pidfd of it; -1: none */
void seat_end_with(pid_t parent, int life);
void seat_close_from(unsigned first); /* close all descriptors from @first on */
