/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/perf_map.h - a perf map: a JIT compiler's list of its functions.
 *
 * The file is text, with a line for each function. A later line may put another function at an
 * address, and counts. Pure: the caller reads the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_line {
	uint64_t start, end; /* end: exclusive */
	const char *name;    /* as in the file */
};

/* A zeroed struct is empty. */
struct perf_map {
	char *text;
	struct perf_line *lines;
	size_t n, capacity;
	uint64_t *bounds;   /* starts and ends of all lines, rising */
	uint32_t *owners;   /* from a bound to the next: a line's index plus 1; 0: no line */
	uint64_t n_garbage; /* malformed lines */
	bool is_full;       /* at a bound: further lines were ignored */
	size_t n_bytes;     /* memory held */
};

/*
 * Read a file, the @n bytes at @text. A last line without a newline does not count. Takes @text,
 * from malloc(3), and writes to it.
 */
void perf_map_read(char *text, size_t n, struct perf_map *ret);
void perf_map_fini(struct perf_map *m);

/* The last line with @addr; NULL: there is none. Lent by @m. */
const struct perf_line *perf_map_at(const struct perf_map *m, uint64_t addr);
