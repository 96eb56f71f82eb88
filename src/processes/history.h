/*
 * processes/history.h - what processes have done: what each ran, and had mapped, when.
 *
 * /proc says, while a process lives, what it had mapped before it was followed. Events say the rest
 * (processes/sideband.h). So a stack of a process that has ended, or runs another program now, is
 * named by what the process had mapped when the stack was taken.
 *
 * Without events, /proc is read again in each period in which the process is asked for. A program
 * begins then with its first hit, since the programs in the kernel count each exec, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/images.h"
#include "processes/programs.h"
#include "processes/sideband.h"

/* What is known of a process that was seen. Times are ns of CLOCK_MONOTONIC. */
struct sighting {
	uint64_t time;    /* 0: not known */
	uint64_t since;   /* when its life was counted, 0: it never was; UINT64_MAX: not known */
	const char *comm; /* may be NULL */
	uint32_t user;    /* the real one, or USER_UNKNOWN */
};

struct history;

/* @images is kept. */
struct history *history_new(struct images *images);
void history_free(struct history *h);

/* From now on, events tell what processes do. */
void history_follow(struct history *h);
bool history_is_followed(const struct history *h);

/*
 * In the order of time, at least for each process. True: where the process had a file mapped there
 * is another one now; the same addresses mean something else from here on.
 */
bool history_event(struct history *h, const struct process_event *event);

/* Another process of which that is so, as it has the same address space; 0: none any more. */
uint32_t history_changed(struct history *h);

/*
 * What process @tgid ran at @time (0: the newest); NULL: not known. @since: an exec later than that
 * was not over at @time, and what ran then was still the program before (UINT64_MAX: not known).
 * Kept until history_refresh() is called for the second time from now.
 */
const struct program *history_keep(struct history *h, uint32_t tgid, uint64_t time, uint64_t since);

/*
 * What was not asked for since the last time may be forgotten, once it is over for some seconds and
 * there are many such.
 */
void history_refresh(struct history *h);

/* program_comm(), asked of /proc if that is not known and @program still runs. */
const char *history_comm(struct history *h, const struct program *program, uint64_t time);

/*
 * Process @tgid is looked at now, unless all is known of it already: it was there before it was
 * followed.
 */
void history_look(struct history *h, uint32_t tgid);

/* The same, unless that was done in this period. */
void history_look_again(struct history *h, uint32_t tgid);

/* Process @tgid was hit, and is looked at. */
void history_seen(struct history *h, uint32_t tgid, const struct sighting *seen);

/* What @tgid runs, if that was hit; NULL: it was not. Lent as history_keep()'s. */
const struct program *history_hit(const struct history *h, uint32_t tgid);

/*
 * So many programs that history_keep() gave were forgotten before their time, since all took too
 * much memory. Whoever has kept one asks again when this has changed.
 */
uint64_t history_dropped(const struct history *h);

/* So many mappings of the past had no room, since a process had more of them than is kept. */
uint64_t history_dropped_regions(const struct history *h);

/* Memory held, in bytes. */
size_t history_bytes(const struct history *h);
