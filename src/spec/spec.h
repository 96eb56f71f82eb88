/*
 * spec/spec.h - from the text that was typed to what was asked for. Pure.
 *
 *	func              kernel function        vfs_read, 'tcp_send*'
 *	lib:func          user function          c:malloc, /usr/bin/x:main, prog:ns::f
 *	p:lib:func        user function
 *	p::func           kernel function
 *	t:category:event  tracepoint             t:sched:sched_switch
 *	u:lib:probe       USDT probe             u:pthread:pthread_create
 *	u:lib:provider:probe
 *
 * A ':' in a name (C++ ns::f, a regular expression's (?:) is no separator
 * where the grammar leaves no doubt.
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
};

/* What was asked for. Strings and patterns are owned. A zeroed one is empty. */
struct probe_spec {
	enum probe_kind kind;
	char *text;               /* as typed */
	char *library;            /* user function, USDT: short name, program or path; else NULL */
	struct pattern *category; /* tracepoint; else NULL */
	struct pattern *provider; /* USDT; NULL is any */
	struct pattern *name;     /* function, event or probe */
};

/*
 * Errors: -EINVAL with the text, a caret under the place where that helps
 *         (the message may then have several lines), and what is expected:
 *         "'t:sched': a tracepoint is t:CATEGORY:EVENT".
 */
must_check int probe_spec_parse(const char *text, bool is_regexp, struct probe_spec *ret,
				struct error *e);
void probe_spec_fini(struct probe_spec *spec);
