/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/segments.h - the code ranges of a file, and its entries in the BPF map 'files'
 * (bpf/tables.h), which lead from a mapped file to its table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/object.h"
#include "bpf/tables.h"
#include "reader/asks.h"
#include "reader/remote_files.h"

/* Leads from a mapping's address to its bias: a file offset, and the bias there. */
struct anchor {
	uint64_t offset;
	uint64_t bias; /* of a mapping of @offset at address 0 */
};

/* The segments of one file. */
struct segments {
	const struct object *object; /* borrowed */
	struct unwind_file_key key;  /* without the offset; inode 0: has no entries in 'files' */
	struct range_fact *ranges;   /* the ranges of code, from the last table */
	size_t n_ranges;
	struct anchor *anchors; /* with an entry in 'files' */
	size_t n_anchors, capacity;
};

void segments_init(struct segments *s, const struct object *object, const struct file_state *file);
void segments_fini(struct segments *s);

/* Take the ranges of code from @table, if it has any. */
void segments_read(struct segments *s, const struct table_view *table);

/* The anchor of @m, a mapping of the file. False: @m maps none of the file's code. */
bool segments_find(const struct segments *s, const struct mapping *m, struct anchor *ret);

/*
 * Add an entry for @anchor: BPF walks mappings of this offset by @how, with the image at @place.
 * *@n_keys counts the entries of the map. Nothing happens if the offset has an entry, if the file
 * has MOST_ANCHORS of them, or if the map is full.
 */
void segments_publish(struct segments *s, struct anchor anchor, enum unwind_how how, uint32_t place,
		      size_t *n_keys);

/*
 * Change the entries of all anchors so far, and add those of the first segments, as loaders map
 * them.
 */
void segments_publish_all(struct segments *s, enum unwind_how how, uint32_t place, size_t *n_keys);

/* Remove all entries of the file. */
void segments_forget(struct segments *s, size_t *n_keys);
