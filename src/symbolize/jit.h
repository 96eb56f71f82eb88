/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/jit.h - names of JIT code, from the perf maps of processes.
 *
 * A child reads a map in a report that has code of its process, and when the process ends. The
 * names stay known after that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/* --- one perf map: pure --- */

/*
 * The file is text, with a line for each function. A later line may put another function at an
 * address, and counts.
 */
struct perf_line {
	uint64_t start, end; /* end: exclusive */
	const char *name;    /* as in the file */
};

/* A zeroed struct is empty. */
struct perf_map {
	char *text;
	struct perf_line *lines;
	size_t n, capacity;
	uint64_t *bounds; /* starts and ends of all lines, rising */
	uint32_t *owners; /* from a bound to the next: a line's index plus 1; 0: no line */
	bool is_full;     /* at a bound: further lines were ignored */
	size_t n_bytes;   /* memory held */
};

/*
 * Read a file, the @n bytes at @text. A last line without a newline does not count. Takes @text,
 * from malloc(3), and writes to it.
 */
void perf_map_read(char *text, size_t n, struct perf_map *ret);
void perf_map_fini(struct perf_map *m);

/* The last line with @addr; NULL: there is none. Lent by @m. */
const struct perf_line *perf_map_at(const struct perf_map *m, uint64_t addr);
