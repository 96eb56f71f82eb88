// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/segments.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"

#define PAGE_LAST 0xfffU
#define MOST_ANCHORS 16U
/* Further segments are published when a process maps them. */
#define SEGMENTS_AT_ONCE 8U

void segments_init(struct segments *s, const struct object *object, const struct file_state *file)
{
	*s = (struct segments){
		.object = object,
		.key = { .inode = file->inode,
			 .size = file->fact.size,
			 .changed = file->fact.changed,
			 .changed_ns = file->fact.changed_ns,
			 .dev = FILE_DEV(major(file->dev), minor(file->dev)) },
	};
}

void segments_fini(struct segments *s)
{
	free(s->ranges);
	free(s->anchors);
}

void segments_read(struct segments *s, const struct table_view *table)
{
	if (!table->n_ranges)
		return;
	free(s->ranges);
	s->n_ranges = table->n_ranges;
	s->ranges = xcalloc(table->n_ranges, sizeof(*table->ranges));
	memcpy(s->ranges, table->ranges, table->n_ranges * sizeof(*table->ranges));
}

/*
 * Does @m map the segment of @bytes at @offset of the file?
 *
 * With @is_whole: from its first page on. Other segments may have parts of that page, too.
 * Otherwise: any part of it, because mprotect(2) may have split the mapping.
 */
static bool is_mapped_by(const struct mapping *m, uint64_t offset, uint64_t bytes, bool is_whole)
{
	return is_whole ? (offset ^ m->offset) <= PAGE_LAST
			: m->offset >= offset && m->offset - offset < bytes;
}

static struct anchor anchor_of(const struct range_fact *range, uint64_t offset)
{
	return (struct anchor){ offset, range->offset - offset - range->vaddr };
}

bool segments_find(const struct segments *s, const struct mapping *m, struct anchor *ret)
{
	for (size_t i = 0; i < 2 * s->n_ranges; i++) {
		const struct range_fact *range = &s->ranges[i % s->n_ranges];

		if (!is_mapped_by(m, range->offset, range->n_bytes, i < s->n_ranges))
			continue;
		*ret = anchor_of(range, m->offset);
		return true;
	}
	return false;
}

/* Set the entry of @offset in the map 'files'. NULL: remove it. */
static void set_file_entry(const struct segments *s, uint64_t offset,
			   const struct unwind_file *file)
{
	struct unwind_file_key key = s->key;
	struct error e;

	key.offset = offset;
	if (object_set_file(s->object, &key, file, &e))
		log_debug("%s", e.text);
}

static bool has_anchor(const struct segments *s, uint64_t offset)
{
	for (size_t i = 0; i < s->n_anchors; i++)
		if (s->anchors[i].offset == offset)
			return true;
	return false;
}

void segments_publish(struct segments *s, struct anchor anchor, enum unwind_how how, uint32_t place,
		      size_t *n_keys)
{
	if (!s->key.inode || s->n_anchors == MOST_ANCHORS || *n_keys == MOST_FILES ||
	    has_anchor(s, anchor.offset))
		return;
	array_push(s->anchors, s->n_anchors, s->capacity, anchor);
	++*n_keys;
	set_file_entry(s, anchor.offset, &(struct unwind_file){ anchor.bias, place, how });
}

void segments_publish_all(struct segments *s, enum unwind_how how, uint32_t place, size_t *n_keys)
{
	for (size_t i = 0; i < s->n_anchors; i++)
		set_file_entry(s, s->anchors[i].offset,
			       &(struct unwind_file){ s->anchors[i].bias, place, how });
	for (size_t i = 0; i < s->n_ranges && i < SEGMENTS_AT_ONCE; i++) {
		const uint64_t offset = s->ranges[i].offset & ~(uint64_t)PAGE_LAST;

		segments_publish(s, anchor_of(&s->ranges[i], offset), how, place, n_keys);
	}
}

void segments_forget(struct segments *s, size_t *n_keys)
{
	for (size_t i = 0; i < s->n_anchors; i++)
		set_file_entry(s, s->anchors[i].offset, NULL);
	*n_keys -= s->n_anchors;
	s->n_anchors = 0;
}
