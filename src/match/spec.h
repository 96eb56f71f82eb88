/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/spec.h - parse the text of an event into a probe spec. Pure.
 *
 *	func              kernel function        vfs_read, 'tcp_send*'
 *	lib:func          user function          c:malloc, /usr/bin/x:main, prog:ns::f
 *	p:lib:func        user function
 *	p::func           kernel function
 *	r:func, r::func   returns of a kernel function
 *	r:lib:func        returns of a user function
 *	t:category:event  tracepoint             t:sched:sched_switch
 *	u:lib:probe       USDT probe             u:pthread:pthread_create
 *	u:lib:provider:probe
 *	e:event           perf event             e:page-faults, e:cycles:u, e:r003c
 *
 * A ':' within a name (C++'s ns::f) does not separate if the grammar leaves no doubt. spec.c has
 *the rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/pattern.h"

enum probe_kind {
	PROBE_KERNEL_FUNCTION,
	PROBE_USER_FUNCTION,
	PROBE_TRACEPOINT,
	PROBE_USDT,
	PROBE_PERF_EVENT,
};

/* A parsed event. Owns its strings and patterns. A zeroed struct is empty. */
struct probe_spec {
	enum probe_kind kind;
	bool is_return;           /* a function: its returns, not its entry */
	char *text;               /* as typed */
	char *library;            /* user function, USDT: short name, program or path; else NULL */
	struct pattern *category; /* tracepoint; else NULL */
	struct pattern *provider; /* USDT; NULL: any provider */
	struct pattern *name;     /* function, event or probe */
	bool exclude_user;        /* perf event with the modifier k alone */
	bool exclude_kernel;      /* likewise u */
};

/*
 * Parse @text; *@ret is the caller's, to end with probe_spec_fini().
 *
 * Errors: -EINVAL with @text and the expected form:
 *         "'t:sched': a tracepoint is t:CATEGORY:EVENT".
 *         The message may have two more lines, with a caret at the wrong place.
 *         Others: see pattern_compile().
 */
must_check int probe_spec_parse(const char *text, bool is_regexp, struct probe_spec *ret,
				struct error *e);
void probe_spec_fini(struct probe_spec *spec);

/* --- errors that show the place in the text which the user typed --- */

/*
 * Fail by -EINVAL with "'TEXT': @reason", and show byte @at:
 *
 *	'x:y:z': too many ':'
 *	  x:y:z
 *	     ^
 *
 * The first line is complete without the others, which are left out if they do not fit.
 */
must_check int caret_refuse_at(const char *text, size_t at, const char *reason, struct error *e);

/* Show byte @at of @text below the message of a failure, if both fit. Returns e->code. */
must_check int caret_add(const char *text, size_t at, struct error *e);
