/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/perf_map.h - a perf map: a JIT compiler's list of its functions.
 *
 * The file is text that only grows, with a line for each function. A later line may put another
 * function at an address. Pure: the caller reads the file, and gives the times.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map;

struct perf_map *perf_map_new(void);
void perf_map_free(struct perf_map *m);
void perf_map_freep(struct perf_map **m);

/* Add the next @n bytes of the file. A line counts once its end has come. */
void perf_map_add(struct perf_map *m, const char *text, size_t n);

/* The file begins anew. Functions that it does not list again belong to the past. */
void perf_map_restart(struct perf_map *m);

/*
 * End a reading: all bytes since the last one were written after @after and before @by, ns of
 * CLOCK_MONOTONIC. Neither time goes back. True: a function has replaced another one.
 */
bool perf_map_settle(struct perf_map *m, uint64_t after, uint64_t by);

struct perf_map_function {
	const char *name; /* as in the file. The map lends it */
	uint64_t start;
};

/*
 * The function at @addr at @time (0: the newest). False: there is none, or it may be either of two.
 * The first line about an address counts for all earlier times too, because some programs write
 * their map only at the end.
 */
bool perf_map_at(const struct perf_map *m, uint64_t addr, uint64_t time,
		 struct perf_map_function *ret);

/* If two times have the same epoch, each address means the same from one to the other. */
uint32_t perf_map_epoch(const struct perf_map *m, uint64_t time);

/* The map has reached a bound, of functions or of memory, and ignores further lines. */
bool perf_map_is_full(const struct perf_map *m);

/* Number of malformed lines. */
uint64_t perf_map_garbage(const struct perf_map *m);

/* There was text, and not one well-formed line. */
bool perf_map_is_garbage(const struct perf_map *m);

/* Memory held, in bytes. */
size_t perf_map_bytes(const struct perf_map *m);
