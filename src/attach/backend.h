/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/backend.h - shared by the backends. For attach/ only. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"

#define PLACED 1

struct samples {
	struct sample_event *events;
	size_t n, capacity;
	struct samples_state last; /* with @is_over */
	bool is_over;
};

/* See attach/attach.h. */
struct attachment {
	/* The arguments of attach_all(). Lent. */
	const struct target *targets;
	const struct plan *plan;
	const struct object *object;
	struct attach_scope scope; /* without pids if probes are system-wide */
	/*
	 * For each target, 0 at first, then PLACED, in one process at least, or the last refusal,
	 * a negative errno.
	 */
	int *outcomes;
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

/* Note that @target is placed, or refused if @code is a negative errno. */
void attachment_note(struct attachment *a, uint32_t target, int code);

/* The backends: each puts probes at these targets, and notes each as placed or refused. */
typedef void backend_attach(struct attachment *a, const struct selection *chosen);
backend_attach tracepoint_attach, kprobe_multi_attach, kprobe_attach, uprobe_multi_attach,
	uprobe_attach, perf_event_attach;

/* The events end. The last state stays. */
void samples_fini(struct samples *s);

/* The words for refusal @code (negative errno) of the kernel. Static text. */
const char *refusal_words(enum target_kind kind, int code);

/*
 * --- The system calls that attach (links.c). ---
 *
 * They return the kernel's negative errno if it refuses. The caller notes that, and attach_all()
 * finds the words for it.
 */

/*
 * Open a perf event for process @pid, or on CPU @cpu for all processes (-1). Returns a descriptor.
 */
must_check int link_open_event(const struct perf_event_attr *attr, int pid, int cpu);

/*
 * The attachment gets a link, by which @event runs @program, with the number of @target. If @event
 * is the refusal to open it, returns that.
 */
must_check int link_event(struct attachment *a, int event, enum object_program program,
			  uint32_t target);

/* Likewise, at each hit of the kernel's tracepoint @name. */
must_check int link_raw_tracepoint(struct attachment *a, const char *name,
				   enum object_program program);

/* Hits missed at a link, as far as the kernel counts them; else 0. */
uint64_t link_missed(int link_fd);

/* --- Attach many places by one link, except those that the kernel refuses (links.c). --- */

struct batch {
	struct attachment *a;
	enum object_program program;
	const char *path; /* NULL: functions of the kernel. Lent */
	uint32_t pid;     /* with @path; 0: every process */
	bool by_symbol;   /* without @path: by the functions' names, not by their addresses */
	/* The arrays run in parallel. */
	size_t n;
	uint32_t *targets;
	uint64_t *places; /* addresses, or offsets in the file */
	const char **symbols;
	uint64_t *semaphores;
	uint64_t *cookies; /* the targets' numbers */
};

/* An empty batch with room for @capacity targets. */
struct batch batch_make(struct attachment *a, enum object_program program, const char *path,
			size_t capacity);
void batch_fini(struct batch *b);
void batch_add(struct batch *b, uint32_t target);

/* Attach by as few links as possible. Notes each target as placed or refused. */
void batch_attach(const struct batch *b);

/* Attach by one link. False: the kernel refuses, and no target has an outcome. */
bool batch_attach_whole(const struct batch *b);

/*
 * --- Put probes into files, which others may hold up (user_probes.c). ---
 *
 * The kernel looks up their paths and may read them, as we do. So another process attaches the
 * probes, and hands them over.
 */

/*
 * Have @attach attach the @chosen targets, which all are places in files. Each file has a process
 * of its own.
 * Errors: -ETIMEDOUT a file system does not answer; -EPIPE the process was killed; -EMFILE there is
 *         no room for all links; else the process could not be made.
 */
must_check int attach_in_files(struct attachment *a, backend_attach *attach,
			       const struct selection *chosen, struct error *e);
