// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* Neighbours with equal paths share one string, and so one pointer (base/strtab.h). */
static bool has_own_text(const struct mapping *m, size_t i)
{
	return i == 0 || m[i].path != m[i - 1].path;
}

/* Returns how many mappings fit. @ret_n_text: bytes of their paths. */
static size_t count_fitting(const struct mapping *m, size_t n, size_t size, size_t *ret_n_text)
{
	size_t used = sizeof(struct block_head), n_text = 0, i;

	for (i = 0; i < n; i++) {
		const size_t text = has_own_text(m, i) ? strlen(m[i].path) + 1 : 0;

		if (used + sizeof(struct listed) + text > size)
			break;
		used += sizeof(struct listed) + text;
		n_text += text;
	}
	*ret_n_text = n_text;
	return i;
}

void *block_make(const struct mapping *m, size_t n, uint32_t tid, size_t size, size_t *ret_n_bytes)
{
	struct block_head head = { .tid = tid };

	head.n = (uint32_t)count_fitting(m, n, size, &head.n_text);
	*ret_n_bytes = sizeof(head) + head.n * sizeof(struct listed) + head.n_text;

	char *block = xcalloc(1, *ret_n_bytes);
	char *at = block + sizeof(head);
	char *text = at + head.n * sizeof(struct listed);
	uint32_t next = 0, path = 0;

	memcpy(block, &head, sizeof(head));
	for (size_t i = 0; i < head.n; i++, at += sizeof(struct listed)) {
		if (has_own_text(m, i)) {
			path = next;
			next += (uint32_t)strlen(m[i].path) + 1;
			memcpy(text + path, m[i].path, next - path);
		}

		const struct listed one = { m[i].start, m[i].end, m[i].offset,    m[i].dev,
					    m[i].inode, path,     m[i].is_deleted };

		memcpy(at, &one, sizeof(one));
	}
	return block;
}

/* Numbers of devices of glibc have at most 33 bits. */
static bool parse_listed(const struct listed *one, const char *text, uint64_t n_text,
			 struct mapping *ret)
{
	*ret = (struct mapping){ one->start, one->end,         one->offset,         one->dev,
				 one->inode, text + one->path, one->is_deleted == 1 };
	return one->start < one->end && one->path < n_text && one->is_deleted <= 1 &&
	       one->dev >> 33 == 0;
}

bool block_read(const void *block, size_t n_bytes, struct mapping_list *ret)
{
	struct block_head head;
	const char *at = (const char *)block + sizeof(head);

	*ret = (struct mapping_list){};
	if (n_bytes < sizeof(head))
		return false;
	memcpy(&head, block, sizeof(head));
	n_bytes -= sizeof(head);
	if (head.n > n_bytes / sizeof(struct listed) ||
	    head.n_text != n_bytes - head.n * sizeof(struct listed))
		return false;

	const char *text = at + head.n * sizeof(struct listed);
	cleanup(mapping_list_fini) struct mapping_list list = {
		.mappings = xcalloc(head.n, sizeof(struct mapping)), .n = head.n, .tid = head.tid
	};
	uint64_t before = 0;

	if (head.n_text && text[head.n_text - 1])
		return false;
	for (size_t i = 0; i < head.n; i++, at += sizeof(struct listed)) {
		struct listed one;

		memcpy(&one, at, sizeof(one));
		if (!parse_listed(&one, text, head.n_text, &list.mappings[i]) || one.start < before)
			return false;
		before = one.end;
	}
	*ret = list;
	memset(&list, 0, sizeof(list)); /* the caller's now; the guard sees none */
	return true;
}

/* Returns the table's next part, @n_bytes at *@at. */
static const void *next_part(const char **at, size_t n_bytes)
{
	const char *part = *at;

	*at += n_bytes;
	return part;
}

/* Check that each page's entries exist, and each entry's rule. */
static bool is_table_sound(const struct table_view *t)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i <= t->n_pages; i++) {
		if (t->pages[i] < before || t->pages[i] > t->n_entries)
			return false;
		before = t->pages[i];
	}
	for (uint32_t i = 0; i < t->n_entries; i++)
		if (t->entries[i].rule >= t->n_rules)
			return false;
	return true;
}

bool table_read(const void *bytes, size_t n_bytes, int32_t *ret_result, struct table_view *ret)
{
	const char *at = (const char *)bytes + sizeof(struct table_fact);
	struct table_fact fact;

	*ret = (struct table_view){};
	if (n_bytes < sizeof(fact))
		return false;
	memcpy(&fact, bytes, sizeof(fact));

	const bool has_table = fact.result == 0;
	const uint64_t n_ranges = fact.n_ranges * (uint64_t)sizeof(struct range_fact);
	const uint64_t n_pages = has_table ? (fact.n_pages + 1ULL) * sizeof(uint32_t) : 0;
	const uint64_t n_entries = fact.n_entries * (uint64_t)sizeof(struct unwind_entry);
	const uint64_t n_rules = fact.n_rules * (uint64_t)sizeof(struct unwind_rule);

	if (fact.n_ranges > MOST_RANGES || fact.result > 0 || fact.result < -LARGEST_ERRNO ||
	    sizeof(fact) + n_ranges + n_pages + n_entries + n_rules != n_bytes)
		return false;
	*ret_result = fact.result;
	*ret = (struct table_view){ .base = fact.base,
				    .n_ranges = fact.n_ranges,
				    .n_pages = has_table ? fact.n_pages : 0,
				    .n_entries = fact.n_entries,
				    .n_rules = fact.n_rules };
	ret->ranges = next_part(&at, n_ranges);
	ret->pages = next_part(&at, n_pages);
	ret->entries = next_part(&at, n_entries);
	ret->rules = next_part(&at, n_rules);
	return !has_table || is_table_sound(ret);
}

bool symbols_read(const void *bytes, size_t n_bytes, size_t n_asked, struct symbols_fact *ret_fact,
		  struct name_view *ret)
{
	const char *block = (const char *)bytes + sizeof(*ret_fact);

	if (n_bytes < sizeof(*ret_fact))
		return false;
	memcpy(ret_fact, bytes, sizeof(*ret_fact));
	return ret_fact->n_build_id <= sizeof(ret_fact->build_id) &&
	       debug_hint_is_sound(&ret_fact->hint) &&
	       name_block_read(block, n_bytes - sizeof(*ret_fact), n_asked, ret) &&
	       (!n_asked || ret->head->n || ret_fact->wants_debug);
}
