// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/question.h"

#include <string.h>

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

/* Strings must not overlap, so all of them together take no more memory than the block. */
static bool is_text_in_block(const struct name_view *v, uint32_t at)
{
	return at == NO_TEXT || (at < v->head->n_text && (at == 0 || !v->text[at - 1]));
}

static bool is_view_sound(const struct name_view *v)
{
	uint32_t next = 0; /* no two names share a call */

	for (uint32_t i = 0; i < v->head->n; i++) {
		const struct name_fact *f = &v->facts[i];

		if (!is_text_in_block(v, f->function) || f->call > v->head->n_calls ||
		    f->n_calls > v->head->n_calls - next || (f->n_calls && f->call != next))
			return false;
		next += f->n_calls;
	}
	for (uint32_t i = 0; i < v->head->n_calls; i++)
		if (!is_text_in_block(v, v->calls[i].name) ||
		    !is_text_in_block(v, v->calls[i].file))
			return false;
	return true;
}

static bool read_block(const void *bytes, size_t n_bytes, size_t n_asked, struct name_view *ret)
{
	const struct names_head *head = bytes;

	if (n_bytes < sizeof(*head) || head->n > n_asked || head->n_text > n_bytes)
		return false;

	const uint64_t n_facts = head->n * (uint64_t)sizeof(struct name_fact);
	const uint64_t n_calls = head->n_calls * (uint64_t)sizeof(struct call_fact);

	if (sizeof(*head) + n_facts + n_calls + head->n_text != n_bytes)
		return false;
	ret->head = head;
	ret->facts = (const struct name_fact *)(head + 1);
	ret->calls = (const struct call_fact *)(ret->facts + head->n);
	ret->text = (const char *)(ret->calls + head->n_calls);
	return (!head->n_text || !ret->text[head->n_text - 1]) && is_view_sound(ret);
}

const char *name_view_text(const struct name_view *view, uint32_t at)
{
	return at == NO_TEXT ? NULL : view->text + at;
}

bool symbols_read(const void *bytes, size_t n_bytes, size_t n_asked, bool has_hint,
		  struct symbols_fact *ret_fact, struct name_view *ret)
{
	const char *block = (const char *)bytes + sizeof(*ret_fact);

	if (n_bytes < sizeof(*ret_fact))
		return false;
	memcpy(ret_fact, bytes, sizeof(*ret_fact));
	return ret_fact->n_build_id <= sizeof(ret_fact->build_id) &&
	       debug_hint_is_sound(&ret_fact->hint) &&
	       read_block(block, n_bytes - sizeof(*ret_fact), n_asked, ret) &&
	       (!n_asked || ret->head->n || (ret_fact->wants_debug && !has_hint));
}
