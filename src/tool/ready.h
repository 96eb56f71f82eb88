/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/ready.h - --ready-fd: tell the parent process that counting has begun. If the descriptor is
 * a socket, the parent may then ask when all that was hit so far is stored. A question is a byte,
 * and so is its answer. The question notes positions in the rings, and a time. Later hits do not
 * hold up its answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tables/unwinder.h"

struct run;
struct waiter;

struct ready {
	uint64_t fd; /* 0: the option was not given */
	bool is_asked;
	bool is_told;     /* the line is written; atomic, as @n */
	bool is_socket;   /* the parent may ask, */
	bool is_left;     /* and asks no more */
	bool is_pending;  /* @n questions wait for the main thread, not yet for the unwinder */
	size_t n, n_next; /* questions to answer at once, and those behind them */
	uint64_t since;   /* ns: when the @n were there */
	uint64_t notices, deferred; /* notices_end() and deferred_end() then */
};

/*
 * Check that descriptor @fd is open for writing, and close it in programs that we execute. Call it
 * before anything is opened. @fd 0: nothing to check. Errors: -EBADF.
 */
must_check int ready_check(uint64_t fd, struct error *e);

/*
 * Call it when counting has begun and the mappings of all running processes are read. Once @u
 * (NULL: no unwinder) has made their tables, it writes a newline to the descriptor and closes it,
 * unless it is a socket. A second call does nothing. Keeps @ready and @u.
 */
void ready_tell(struct ready *ready, struct unwinder *u);

/* OCCASION_QUESTION is when the parent asks. Errors: from epoll. */
must_check int ready_listen(struct ready *ready, struct waiter *w, struct error *e);

/*
 * Read the parent's questions. Answer a question once all from before it is stored. That is records
 * of processes, notices, deferred hits, events, and the unwinder's wishes. True: something is
 * missing yet, so come back after READY_MS at most.
 */
bool ready_answer(struct run *r);
#define READY_MS 1
