/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/backend.h - shared by the backends. For attach/ only. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"

/* See attach/attach.h. */
struct attachment {
	int *links; /* they keep their perf events */
	size_t n_links, links_capacity;
	struct refusal *refusals;
	size_t n_refused, refusals_capacity;
	size_t n_attached;
	uint64_t missed; /* hits missed at links that are closed */
	struct samples samples;
};

/* Indices in the target list, ascending. Owns them; a zeroed selection is empty. */
struct selection {
	uint32_t *items;
	size_t n;
	size_t capacity;
};

void selection_fini(struct selection *s);

struct outcome {
	int code;       /* of the last refusal, a negative errno */
	bool is_placed; /* in at least one process */
};

/* The state of one call of attach_all(). A backend borrows all of it, for the call. */
struct attaching {
	const struct target *targets;
	const struct plan *plan;
	const struct object *object;
	const struct attach_scope *scope;
	struct attachment *attachment;
	struct outcome *outcomes; /* one for each target */
	enum target_by target_by;
};

/* Note that @target is placed, or refused if @code is a negative errno. */
void attaching_note(struct attaching *at, uint32_t target, int code);

/* Hand a link over to the attachment, and return 0. If @link_fd is a negative errno, return it. */
int attaching_add_link(struct attaching *at, int link_fd);

/*
 * Open a perf event for @pid (-1: for all processes), and have it run @program, with @target as its
 * number. Returns 0 or the kernel's negative errno. The caller notes a refusal; collect_outcomes()
 * finds its words later.
 */
int attaching_add_event(struct attaching *at, const struct perf_event_attr *attr, int pid,
			enum object_program program, uint32_t target);

/*
 * As attaching_add_event(), for a perf event on one CPU. The attachment keeps it among its samples,
 * disabled.
 */
int attaching_add_sampled(struct attaching *at, const struct perf_event_attr *attr, uint32_t cpu,
			  const struct sampling *how, uint32_t target);

/* The number by which programs know @target. */
static inline uint32_t attaching_number(const struct attaching *at, uint32_t target)
{
	return at->scope && at->scope->numbers ? at->scope->numbers[target] : target;
}

/*
 * For multi links: the targets' numbers as cookies, which the caller frees. NULL: cookies are not
 * used.
 */
uint64_t *attaching_cookies(const struct attaching *at, const uint32_t *targets, size_t n);

/*
 * The processes that get user probes: returns their number, and lends *@pids from the scope. 0: the
 * probe is system-wide, and the program filters processes.
 */
size_t attaching_pids(const struct attaching *at, const uint32_t **pids);

/* The backends: each puts probes at these targets, and notes each as placed or refused. */
void tracepoint_attach(struct attaching *at, const struct selection *chosen);
void kprobe_multi_attach(struct attaching *at, const struct selection *chosen);
void kprobe_attach(struct attaching *at, const struct selection *chosen);
void uprobe_multi_attach(struct attaching *at, const struct selection *chosen);
void uprobe_attach(struct attaching *at, const struct selection *chosen);
void perf_event_attach(struct attaching *at, const struct selection *chosen);

/*
 * Open the event of @target on each CPU of the scope that has none. A CPU that is offline gets
 * none.
 */
struct perf_event_cpus {
	uint32_t n_placed, n_refused;
	int code; /* of a refusal, a negative errno; -ENODEV if there is none */
};
struct perf_event_cpus perf_event_add_cpus(struct attaching *at, uint32_t target);

/* The words for refusal @code (negative errno) of the kernel. Static text. */
const char *refusal_words(enum target_kind kind, int code);

/*
 * --- The system calls that attach (links.c). ---
 *
 * They return a descriptor or the kernel's negative errno. attach_all() finds the words for it.
 */

/* Open a perf event for process @pid; -1: for all processes. */
must_check int link_open_event(const struct perf_event_attr *attr, int pid);
/* Likewise, for all processes on one CPU. */
must_check int link_open_event_on(const struct perf_event_attr *attr, uint32_t cpu);

/* Have @event_fd run the program, with a cookie (0: none). */
must_check int link_to_event(int event_fd, int prog_fd, uint64_t cookie);

/* The places of a multi link: parallel arrays of @n. */
struct link_places {
	const uint64_t *places;     /* addresses, or offsets in the file; NULL: use @symbols */
	const char *const *symbols; /* NULL: use @places */
	const uint64_t *semaphores; /* may be NULL */
	const uint64_t *cookies;    /* may be NULL */
	size_t n;
};

/* @is_return: the program runs at the functions' returns, not at their entries. */
must_check int link_kprobe_multi(int prog_fd, const struct link_places *to, bool is_return);

/* @pid 0: every process. */
must_check int link_uprobe_multi(int prog_fd, const char *path, const struct link_places *to,
				 uint32_t pid);

/* Hits missed at a link, as far as the kernel counts them; else 0. */
uint64_t link_missed(int link_fd);

/* --- Attach many places by one link, except those that the kernel refuses (links.c). --- */

/* A batch for one call; the caller lends all. The arrays run in parallel, and some may be NULL. */
struct batch {
	struct attaching *at;
	const uint32_t *targets;
	const uint64_t *places; /* addresses or offsets */
	const uint64_t *semaphores;
	const uint64_t *cookies;
	const char *const *symbols;
	const char *path;
	uint32_t pid;
	enum object_program program;
	/* Attach places [first, first + n) as one. Returns 0 or the kernel's refusal. */
	int (*link)(const struct batch *b, size_t first, size_t n);
};

/* The places [first, first + n), for link(). */
struct link_places batch_range(const struct batch *b, size_t first, size_t n);

/* Attach places [0, n) by as few links as possible. Notes each target as placed or refused. */
void batch_attach(const struct batch *b, size_t n);

/* Attach them by one link. False: the kernel refuses, and no target has an outcome. */
bool batch_attach_whole(const struct batch *b, size_t n);

/*
 * --- Put probes into files that others may hold up (user_probes.c). ---
 *
 * The kernel looks up their paths and may read them, as we do. So another process attaches the
 * probes, and hands them over.
 */

typedef void attach_by(struct attaching *at, const struct selection *chosen);

/*
 * Have @attach attach the @chosen targets, which all are places in files. Each distant file has a
 * process of its own; all others are attached here.
 * Errors: -ETIMEDOUT a file system does not answer; -EPIPE the process was killed; else the process
 *         could not be made.
 */
must_check int distant_attach(struct attaching *at, attach_by *attach,
			      const struct selection *chosen, struct error *e);

/* --- Close many probes quickly (detach.c). --- */

/*
 * Close links within a moment. If the kernel takes longer than that, a process that holds nothing
 * else waits for it, and then ends. Until then the links' programs may still run. A message says
 * so.
 */
void detach_links(const int *links, size_t n);
