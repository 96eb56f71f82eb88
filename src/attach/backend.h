/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/backend.h - shared by the backends. For attach/ only. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"
#include "attach/samples.h"

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
 * The processes that get user probes: returns their number, and lends *@pids from the scope. 0:
 * probe system-wide, and let the program filter processes. @n_places: places in each process.
 */
size_t attaching_pids(const struct attaching *at, size_t n_places, const uint32_t **pids);

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

/* Attach one tracepoint by perf's number for it. Returns 0 or the kernel's negative errno. */
int tracepoint_attach_id(struct attaching *at, uint64_t id, enum object_program program,
			 uint32_t target);

/* The words for refusal @code (negative errno) of the kernel. Static text. */
const char *refusal_words(enum target_kind kind, int code);
