/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/matcher.h - functions and USDT probes are looked for in a process of its own, which has no
 * privilege but to open files. Neither a file system that does not answer nor a hostile file holds
 * this one up.
 */
#pragma once

#include <stddef.h>

#include "base/aside.h"
#include "base/error.h"
#include "match/match.h"
#include "spec/spec.h"

struct matcher {
	struct aside aside;
	char *file; /* that it reads now */
};

#define MATCHER_NONE                 \
	(struct matcher)             \
	{                            \
		.aside = ASIDE_NONE, \
	}

/*
 * Begin match_targets() for each of the @n @specs, all of them of user space. For one file it takes
 * at most 30 s of CPU time. scope->on_file must be NULL; @out is what is there already. Nothing of
 * it is needed once this has returned. Errors: no process can be made.
 */
must_check int matcher_begin(struct matcher *m, const struct probe_spec *specs, size_t n,
			     const struct match_scope *scope, struct target_list *out,
			     struct error *e);

/*
 * Wait for what matches, at most @limit targets, and append it to @out.
 *
 * Errors: those of match_targets()
 *         -ETIMEDOUT  a file system does not answer; the message says of which file
 *         -ETIME      a file takes too much CPU time
 *         -EPIPE      the process was killed
 *         -EBADMSG    it lies
 * @out keeps what was in it, and with an error nothing else.
 */
must_check int matcher_finish(struct matcher *m, size_t limit, struct target_list *out,
			      struct error *e);
void matcher_end(struct matcher *m);
