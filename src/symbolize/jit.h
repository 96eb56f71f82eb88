/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/jit.h - names of JIT code, from the perf maps of processes.
 *
 * A child reads a map in a report that has code of its process, and when the process ends. The
 * names stay known after that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/processes.h"

struct jit;

/* @images is borrowed. */
struct jit *jit_new(struct images *images);
void jit_free(struct jit *j);

/*
 * The program @p was hit, and may have JIT code. Reads now who it is, because nobody can know that
 * when it has ended. Reads the map, too, if no event will report the end.
 */
void jit_watch(struct jit *j, const struct program_run *p);

struct jit_function {
	const char *name;   /* as in the map. Lent until the next call, as is @module */
	const char *module; /* "perf-7.map" */
	uint64_t start;
};

/*
 * The function of @p at @addr. False: the map has no name. Looks at the map if the last look was
 * before this report, or a while before @time of the hit (0: not known).
 */
bool jit_at(struct jit *j, const struct program_run *p, uint64_t addr, uint64_t time,
	    struct jit_function *ret);

/* The program of process @tgid ended at @time. */
void jit_ended(struct jit *j, uint32_t tgid, uint64_t time);

/* A report begins. */
void jit_refresh(struct jit *j);
