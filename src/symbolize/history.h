/*
 * symbolize/history.h - the lives of processes: what each had mapped, and when.
 *
 * A life begins with fork or exec, and ends with exec or with the process. What was mapped before
 * it was followed is read from /proc while it lives; all else is told by events
 * (processes/sideband.h). So a stack of a process that has ended, or runs another program now, is
 * named by what the process had mapped when the stack was taken.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/sideband.h"
#include "symbolize/comms.h"
#include "symbolize/images.h"
#include "symbolize/memory.h"

struct history;

/* @images is kept. */
struct history *history_new(struct images *images);
void history_free(struct history *h);

/*
 * In the order of time, at least for each process. True: where the process had a file mapped there
 * is another one now; the same addresses mean something else from here on.
 */
bool history_event(struct history *h, const struct process_event *event);

/* Another process of which that is so, as it has the same memory; 0: none any more. */
uint32_t history_changed(struct history *h);

struct life {
	uint32_t tgid;
	bool is_exec;          /* it began with a program's start */
	bool is_forgotten;     /* soon */
	bool is_whole;         /* nothing was mapped that is not in it */
	uint64_t begin;        /* ns of CLOCK_MONOTONIC; 0: before it was followed */
	uint64_t end;          /* when another program or process followed; UINT64_MAX: none has */
	uint64_t exited;       /* when its first thread did; UINT64_MAX: it has not */
	uint64_t looked_at;    /* when it was read from /proc; 0: it was not */
	uint64_t kept;         /* the period in which it was asked for; 0: it was not */
	char comm[COMM_BYTES]; /* the last one; empty: not known, unless @is_named */
	bool is_named;         /* an event told it */
	uint64_t named_at;     /* when /proc did; 0: it did not */
	struct former_comms former;
	struct life *older;    /* the one before, of the same number */
	struct memory *memory; /* lent by the history */
	int root;              /* its root directory (reader/roots.h); -1: not known */
};

/*
 * The life that process @tgid had at @time (0: the newest); NULL: not known. @since: an exec later
 * than that was not over at @time, and what ran then was still the program before (UINT64_MAX: not
 * known). Kept until history_refresh() is called for the second time from now.
 */
const struct life *history_keep(struct history *h, uint32_t tgid, uint64_t time, uint64_t since);

/*
 * What was not asked for since the last time may be forgotten, once it is over for some seconds and
 * there are many such.
 */
void history_refresh(struct history *h);

/* The process's name at @time (0: the last); NULL: not known. Lent by @life. */
const char *life_comm(const struct life *life, uint64_t time);

/* When its program, or without exec its process, began; 0: before it was followed. */
uint64_t life_began(const struct life *life);

/*
 * Process @tgid is looked at now, unless all is known of it already: it was there before it was
 * followed.
 */
void history_look(struct history *h, uint32_t tgid);

/*
 * So many lives that history_keep() gave were forgotten before their time, since all took more than
 * 128 MiB: whoever has kept one is to ask again when this has changed.
 */
uint64_t history_dropped(const struct history *h);

/* So many mappings of the past had no room, since a process had more of them than a life holds. */
uint64_t history_dropped_regions(const struct history *h);

/* Memory held, in bytes. */
size_t history_bytes(const struct history *h);
