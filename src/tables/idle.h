/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables/idle.h - which files to forget. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idle {
	uint32_t turns;  /* since BPF used the file's table, or a process was seen to map it */
	uint32_t number; /* older files have smaller ones */
	size_t n_keys;   /* in the map 'files' */
	bool has_table;
};

struct idle_bounds {
	size_t n_files, n_keys;
	uint32_t n_turns; /* files that have been idle that long go */
};

/*
 * Set @stays, by number, for those of the @n @files that stay within @bounds. The last one that
 * stays may exceed n_keys. Returns how many stay. Sorts @files.
 */
size_t idle_choose(struct idle *files, size_t n, const struct idle_bounds *bounds, bool *stays);
