/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/match.h - from probe specs to targets. Loads and attaches nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/host.h"
#include "match/names.h"
#include "match/spec.h"
#include "match/target.h"

/* How far kernel functions are looked up. Each depth takes longer than the one before. */
enum match_depth {
	MATCH_PATTERNS,  /* list a full name unchecked, without address */
	MATCH_NAMES,     /* look up full names, too: all traceable functions of that name */
	MATCH_ADDRESSES, /* give an address to every function */
};

struct match_scope {
	const uint32_t *pids; /* search libraries and programs among the mappings of these */
	size_t n_pids;        /* 0: search this machine's library path and PATH */
	size_t limit;         /* most targets in the list */
	enum match_depth depth;
	bool raw_names;            /* names as in the symbol table; the same functions match */
	bool kernel_calls_at_nop5; /* a uprobe makes a call of a NOP of five bytes */
	/* Called before a library or file is searched or read, which may hang. May be NULL. */
	void (*on_file)(void *context, const char *name);
	void *context;
};

/*
 * Append every place that @spec names to @out, each once over all calls. Kernel functions are
 * listed by name or address, user places by file and offset, tracepoints by name.
 *
 * Errors: -ENOENT  nothing matched; the message offers near names
 *         -EACCES  a list is not readable (lockdown, permission); the message says which
 *         -ENOEXEC a library is no ELF file that can be read
 *         -EOPNOTSUPP an IFUNC, of which only the implementations can be traced
 *         -E2BIG   more than @scope->limit targets
 * A call that fails appends no target.
 *
 * The kernel takes 50 ms and more to write the list of all names. So with MATCH_PATTERNS a full
 * name is listed as unchecked, and the kernel looks for it when it is attached. If it returns
 * ENOENT, match_explain_unknown() makes the message. If several functions have the name
 * (EADDRNOTAVAIL), MATCH_ADDRESSES lists each. So it does where kernels take the first of several
 * without an error. If kallsyms shows no addresses, it warns and lists names.
 *
 * Wildcards, and full names with MATCH_NAMES, match functions that ftrace can trace. If ftrace's
 * list is empty or not readable (lockdown), they match all functions of kallsyms. Functions have an
 * address only if some share a name, or if they come from kallsyms.
 *
 * Patterns for user functions are compared with the name in the symbol table. For C++, Rust and D
 * they are also compared with the written name, with and without parameters and return type.
 *
 * An IFUNC (memcpy, strlen) has implementations for several CPUs. Under its name there is only a
 * resolver, which runs once. In a library that this program has mapped itself (libc), the
 * implementation chosen for this machine is listed. In others, wildcards leave it out. Its full
 * name is an error.
 *
 * Since glibc 2.34 pthread, dl, rt, util and anl are part of libc. If one of them has no match, or
 * a process has not mapped it, libc is searched.
 */
must_check int match_targets(const struct probe_spec *spec, struct host *host,
			     const struct match_scope *scope, struct target_list *out,
			     struct error *e);

/*
 * The kernel does not know the function that @spec names. Returns -ENOENT. The message offers near
 * names, or the reason if the function exists but cannot be traced.
 */
must_check int match_explain_unknown(const struct probe_spec *spec, struct host *host,
				     struct error *e);

/*
 * Search for the tracepoints that the user may have meant by @spec: a kernel function of
 * an event's name, a user function CATEGORY:EVENT, or a tracepoint.
 */
void match_near_tracepoints(const struct probe_spec *spec, struct host *host, struct near *ret);
