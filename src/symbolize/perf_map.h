/*
 * symbolize/perf_map.h - what a JIT compiler tells of the code it has made: a perf map.
 *
 * Text that only grows, a line for each function; what it says of an address changes when a
 * function takes the place of another. Pure: who reads the file says when it did.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map;

struct perf_map *perf_map_new(void);
void perf_map_free(struct perf_map *m);
void perf_map_freep(struct perf_map **m);

/* The next @n bytes of the file. A line is taken when its end has come. */
void perf_map_add(struct perf_map *m, const char *text, size_t n);

/* The file begins anew: what was read before and is not read again is over. */
void perf_map_restart(struct perf_map *m);

/*
 * What was added counts from here on: it was written after @after and before @by, ns of
 * CLOCK_MONOTONIC, which never go back. True: a function is where another one was.
 */
bool perf_map_settle(struct perf_map *m, uint64_t after, uint64_t by);

struct perf_map_function {
	const char *name; /* as in the file. Lent by the map */
	uint64_t start;
};

/*
 * The function at @addr at @time (0: the newest); false: none, or it is not known which of two.
 * What the file tells first of an address is taken to have been there before: maps are also
 * written when all is over.
 */
bool perf_map_at(const struct perf_map *m, uint64_t addr, uint64_t time,
		 struct perf_map_function *ret);

/* Between two times for which this is the same, each address means the same. */
uint32_t perf_map_epoch(const struct perf_map *m, uint64_t time);

/* It takes no more: so many functions, or so much memory. */
bool perf_map_is_full(const struct perf_map *m);

/* Lines that were not of the form. */
uint64_t perf_map_garbage(const struct perf_map *m);

/* Something was added, and no line of it was of the form. */
bool perf_map_is_garbage(const struct perf_map *m);

/* Memory held, in bytes. */
size_t perf_map_bytes(const struct perf_map *m);
