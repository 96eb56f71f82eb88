/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/segments.h - where a file has its code, and what the programs are told of that: entries of
 * the map 'files' (bpf/tables.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/object.h"
#include "bpf/tables.h"
#include "reader/asks.h"
#include "reader/remote_files.h"

/* Where a mapping of the file, at a given offset, has its addresses. */
struct anchor {
	uint64_t offset;
	uint64_t bias; /* of a mapping at address 0 */
};

/* Of one file. */
struct segments {
	const struct object *object; /* lent */
	struct unwind_file_key key;  /* but for the offset; inode 0: the programs are not told */
	struct range_fact *ranges;   /* its code, as it was read last */
	size_t n_ranges;
	struct anchor *anchors; /* which the programs know */
	size_t n_anchors, capacity;
};

void segments_init(struct segments *s, const struct object *object, const struct file_state *file);
void segments_fini(struct segments *s);

/* Its code is as in @table, unless that says nothing of it. */
void segments_read(struct segments *s, const struct table_view *table);

/* Where @m, a mapping of the file, has its addresses. False: it maps no code of the file's own. */
bool segments_find(const struct segments *s, const struct mapping *m, struct anchor *ret);

/*
 * Whoever maps the file from @anchor's offset on is walked as @how says, by the image at @place.
 * *@n_keys counts the entries of the map. A file has a few only, so one that is mapped from very
 * many places is known at some of them.
 */
void segments_tell(struct segments *s, struct anchor anchor, enum unwind_how how, uint32_t place,
		   size_t *n_keys);

/* The same for all that is known of it, and for its first segments as loaders map them. */
void segments_tell_all(struct segments *s, enum unwind_how how, uint32_t place, size_t *n_keys);

/* The programs forget the file. */
void segments_forget(struct segments *s, size_t *n_keys);
