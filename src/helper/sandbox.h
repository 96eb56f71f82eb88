/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* helper/sandbox.h - what a helper can do: one table, by the kind of its work. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Sanitizers take terabytes of addresses, make calls as they like, and report to standard error. */
#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

/*
 * An opener opens files and passes them on. A parser reads files that it is sent.
 *
 * The others are no helpers of the warden, but copies of the main process, for one piece of work: a
 * fetcher asks servers for a file, a matcher looks for functions in files that the user names.
 */
enum sandbox { SANDBOX_OPENER, SANDBOX_PARSER, SANDBOX_FETCHER, SANDBOX_MATCHER };

/* What may be missing: seccomp of helpers in a build with sanitizers, Landlock before Linux 5.13,
 * and both in some containers. Capabilities and limits hold everywhere. */
enum { LAYER_SECCOMP = 1, LAYER_LANDLOCK = 2 };

/*
 * Enter the sandbox for good. @ret_layers are those that hold, of the ones that the kind has.
 * Errors: capabilities that cannot be dropped.
 */
must_check int sandbox_enter(enum sandbox kind, uint32_t *ret_layers, struct error *e);

/*
 * Keep those capabilities that some kind needs, no core files, and no way to gain anything by
 * executing a program. For the warden.
 */
must_check int sandbox_prepare(struct error *e);

/*
 * Keep those of @capabilities that we have, in this thread and those that it makes, and none to be
 * gained by executing a program. Who has no CAP_SYS_PTRACE keeps all: he may look at programs that
 * have no more than himself. Returns a negative errno.
 */
must_check int sandbox_keep(uint64_t capabilities);
