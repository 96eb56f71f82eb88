/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/near.h - "did you mean": the names nearest to the one that the user wrote. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { NEAR_MAX = 3, NEAR_NAME_BYTES = 128, NEAR_HINT = NEAR_MAX * NEAR_NAME_BYTES + 64 };

struct near_name {
	char name[NEAR_NAME_BYTES];
	unsigned distance;
};

struct near {
	char stem[64]; /* compared with names: the longest piece without wildcards */
	size_t n_stem;
	bool is_free_before, is_free_behind; /* a wildcard stood there */
	struct near_name best[NEAR_MAX];     /* nearest first */
	size_t n;
};

/* Start a search for names near @wanted, which is a name, a glob or a regular expression. */
void near_init(struct near *near, const char *wanted);

/* Keep @name if it is near, and nearer than a kept one. */
void near_offer(struct near *near, const char *name);

/* Write " (did you mean vfs_read, vfs_readv?)", or "" if nothing is near. */
void near_text(const struct near *near, char *to, size_t size);
