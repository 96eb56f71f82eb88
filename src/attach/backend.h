/* attach/backend.h - what the backends share. For attach/ only. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/attach.h"

/* Indices in the target list, ascending. Owned; a zeroed one is empty. */
struct selection {
	uint32_t *items;
	size_t n;
	size_t capacity;
};

void selection_fini(struct selection *s);

struct outcome {
	int code;       /* the last refusal, negative errno */
	bool is_placed; /* in one process at least */
};

/* One run of attach_all(). All but the outcomes is lent by its caller. */
struct attaching {
	const struct target *targets;
	const struct plan *plan;
	const struct object *object;
	const struct attach_scope *scope;
	struct attachment *attachment;
	struct outcome *outcomes;        /* of each target */
	bool has_room;                   /* for two descriptors per event */
	enum target_by target_by;        /* ONLY with an event of many places */
	struct definitions *definitions; /* lent by the attachment; NULL before the first */
};

void attaching_placed(struct attaching *at, uint32_t target);
void attaching_refused(struct attaching *at, uint32_t target, int code);

/* The attachment takes over the link, and 0 is returned; a negative errno in its place is, too. */
int attaching_add_link(struct attaching *at, int link_fd);

/*
 * Open a perf event for @pid, or for every process with PID -1, and have it run @program, which
 * is told that it is @target. Returns 0 or the kernel's negative errno; words are found for it
 * later, once per target.
 */
int attaching_add_event(struct attaching *at, const struct perf_event_attr *attr, int pid,
			enum object_program program, uint32_t target);

/* For the multi links: the targets' numbers as cookies, to free(); NULL where none are wanted. */
uint64_t *attaching_cookies(const struct attaching *at, const uint32_t *targets, size_t n);

/*
 * The same for an event of many places that is one for all processes of the scope: what runs
 * the program is the event, and it is opened for each of them.
 */
int attaching_add_shared_event(struct attaching *at, const struct perf_event_attr *attr,
			       enum object_program program);

/* at->definitions is there, or is made now; false: it cannot be. */
bool attaching_defines(struct attaching *at);

/*
 * The processes that user probes are put into: as many as returned, *@pids lent by the scope;
 * 0: system-wide, and the program tells processes apart. @n_places per process.
 */
size_t attaching_pids(const struct attaching *at, size_t n_places, const uint32_t **pids);

/* What an attachment holds, for attach/distant.c: descriptors of each kind, and a number. */
enum held { HELD_LINKS, HELD_EVENTS, HELD_SHARED, HELD_N };

struct holding {
	size_t n[HELD_N];
	size_t n_unlinked;
};

struct holding attachment_holding(const struct attachment *a);
int attachment_held(const struct attachment *a, enum held kind, size_t i); /* lent */
/* The attachment takes over what another one held. */
void attachment_hold(struct attachment *a, enum held kind, int fd);
void attachment_add_unlinked(struct attachment *a, size_t n);

/* One backend: put probes at these targets; each ends as placed or refused. */
void tracepoint_attach(struct attaching *at, const struct selection *chosen);
void kprobe_multi_attach(struct attaching *at, const struct selection *chosen);
void kprobe_attach(struct attaching *at, const struct selection *chosen);
void uprobe_multi_attach(struct attaching *at, const struct selection *chosen);
void uprobe_event_attach(struct attaching *at, const struct selection *chosen);
void uprobe_attach(struct attaching *at, const struct selection *chosen);

/* One tracepoint by perf's number of it; 0 or the kernel's negative errno. */
int tracepoint_attach_id(struct attaching *at, uint64_t id, enum object_program program,
			 uint32_t target);

/* The code with which a target is refused that is not to be handed to the kernel; else 0. */
int refusal_in_advance(const struct target *target);

/* Why the kernel declined with @code (negative errno), in words. Static text. */
const char *refusal_words(enum target_kind kind, int code);
