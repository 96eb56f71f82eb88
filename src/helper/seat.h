/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* helper/seat.h - a helper's side of its connection. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper/held.h"
#include "helper/protocol.h"
#include "helper/sandbox.h"

/* A helper's descriptors. A parser has no other descriptor of ours open. */
struct seat {
	int channel;
	int files;  /* a parser's: receives files from openers; -1: an opener */
	char *area; /* shared with the main process, @n_area bytes */
	size_t n_area;
};

/*
 * Answers @ask: fills in @answer, whose number is already set, and the area. @payload is valid
 * during the call. @state is the helper's own.
 */
typedef void seat_answer(void *state, struct seat *seat, const struct ask *ask, const void *payload,
			 struct answer *answer);

/* Answer the main process's requests until it closes the channel. */
void seat_serve(struct seat *seat, seat_answer *answer, void *state);

/*
 * For an opener: send open file @fd to a parser. @files is the descriptor that WARDEN_MADE named.
 * Returns -EAGAIN at once if earlier files fill the parser's queue. The caller keeps @fd.
 */
int seat_pass(int files, struct passed_file what, int fd);

/* For a parser: receive the next file. -EAGAIN: none is there. The caller owns the descriptor. */
int seat_take(const struct seat *seat, struct passed_file *ret, int *ret_fd);

/* A kind of helper. The caller owns the table of roles, which lives as long as the run. */
struct role {
	const char *name; /* as ps(1) shows it; 15 bytes at most */
	enum sandbox sandbox;
	void (*run)(struct seat *seat); /* runs in the new process, which ends after it */
	size_t n_area;                  /* bytes */
	uint64_t cpu_ns;                /* bound for the CPU time of a request; 0: none */
	uint64_t wall_ns;               /* bound for the time of a request or the start; never 0 */
	uint64_t spare_after_ns;        /* make another one if all are busy for so long; 0: never */
	unsigned most;                  /* most helpers of this role in a lane */
	const char *const *names;       /* a name for each lane; NULL: @name for all */
};

/* -- For the warden. -- */

/*
 * Openers' files have this number or a higher one. Lower ones belong to the warden and its helpers.
 */
#define SEAT_OURS 64
#define SEAT_MOST_FILES 65536

struct seat_start {
	pid_t warden;
	int life; /* a pidfd of the warden; -1: refused */
	unsigned lane;
	unsigned child;
	int channel, area;    /* numbers in the warden's table */
	struct held *held;    /* notes of all children */
	const int32_t *stale; /* descriptors of killed openers, for an opener to close */
	size_t n_stale;
	bool can_leave; /* close_range(2) can leave the shared table; else it is a copy */
};

/* The new process: take the seat, enter the sandbox, report that, work. */
_Noreturn void seat_begin(const struct role *role, const struct seat_start *start);

/* Let the kernel end this process when its parent ends. @life: a pidfd of the parent; -1: none. */
void seat_end_with(pid_t parent, int life);
void seat_close_from(unsigned first); /* close all descriptors from @first on */
