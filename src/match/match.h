/* match/match.h - from what was asked for to what can be traced. Loads and attaches nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/host.h"
#include "match/target.h"
#include "spec/spec.h"

/* How far kernel functions are looked up; each takes longer than the one before. */
enum match_depth {
	MATCH_PATTERNS,  /* a full name is listed as it is, without address */
	MATCH_NAMES,     /* a full name, too: all functions that have it and can be traced */
	MATCH_NAMESAKES, /* what several functions may have the name of has an address */
	MATCH_ADDRESSES, /* every function has one */
};

struct match_scope {
	const uint32_t
		*pids; /* libraries and programs are looked up among what these have mapped */
	size_t n_pids; /* 0: on this machine's library path and PATH */
	size_t limit;  /* at most this many targets in the list */
	enum match_depth depth;
	bool raw_names; /* name targets as in the symbol table; what matches is the same */
	/* Called before a library or file is looked for or read, which may hang. May be NULL. */
	void (*on_file)(void *context, const char *name);
	void *context;
};

/*
 * Append every place that @spec names to @out: kernel functions by address,
 * user places by file and offset, tracepoints by name; each place once, over
 * all calls.
 *
 * Errors: -ENOENT  nothing matched; the message offers near names
 *         -EACCES  a list is not readable (lockdown, permission); the message says which
 *         -ENOEXEC a library is no ELF file that can be read
 *         -EOPNOTSUPP the kernel has no such probes at all
 *         -E2BIG   more than @scope->limit targets
 *         -EINVAL  to match a regular expression takes too much time
 * @out keeps what earlier calls appended, and nothing of a call that fails.
 *
 * A kernel function given by its full name is not looked up (MATCH_PATTERNS): the
 * list of all names takes the kernel 50 ms and more to write. It is listed as
 * unchecked, and the kernel finds it, or refuses with ENOENT when it is attached;
 * then match_explain_unknown() has the words. Where the kernel refuses because there
 * are several of that name (EADDRNOTAVAIL), MATCH_ADDRESSES lists each of them; where
 * it would silently take the first, MATCH_NAMESAKES is to be used from the start.
 * Without kallsyms' addresses that says so, and lists names.
 *
 * Kernel functions by wildcard, and with MATCH_NAMES, are those that ftrace can trace; where
 * their list is empty, or may not be read (lockdown), all that kallsyms has. They
 * have no address unless some of them share a name or they come from kallsyms.
 *
 * User functions are compared by the name in the symbol table and, for C++, Rust
 * and D, as written, with and without parameters and return type.
 *
 * A function with implementations for several CPUs (IFUNC: memcpy, strlen) has
 * only a resolver under its name, which runs once. In a library that this program
 * has mapped itself (libc), the implementation chosen for this machine is taken.
 * In others wildcards leave it out, and its own name is an error that offers the
 * implementations (-EOPNOTSUPP).
 *
 * Since glibc 2.34 pthread, dl, rt, util and anl are part of libc: what is not
 * found in one of them, or if a process has not mapped it, is looked for in libc.
 */
must_check int match_targets(const struct probe_spec *spec, struct host *host,
			     const struct match_scope *scope, struct target_list *out,
			     struct error *e);

/*
 * The kernel does not know the function that @spec names. Returns -ENOENT with
 * near names in the message, or with the reason if it exists and cannot be traced.
 */
must_check int match_explain_unknown(const struct probe_spec *spec, struct host *host,
				     struct error *e);
