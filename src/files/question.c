// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "files/files.h"

/* --- lists --- */

void file_list_fini(struct file_list *list)
{
	mapping_list_fini(&list->list);
	free(list->states);
	*list = (struct file_list){};
}

bool list_read(const char *text, size_t n_bytes, bool has_states, struct file_list *ret)
{
	const size_t n_text = strlen(text) + 1;
	size_t n_states;

	if (!mapping_list_parse(text, &ret->list))
		return false;
	n_states = has_states ? ret->list.n * sizeof(*ret->states) : 0;
	if (n_bytes != n_text + n_states) {
		mapping_list_fini(&ret->list);
		return false;
	}
	if (has_states)
		ret->states = memcpy(xmalloc(n_states + 1), text + n_text, n_states);
	return true;
}

/* --- tables --- */

/* Returns the answer's next part, @n_bytes at *@at. */
static const void *next_part(const char **at, size_t n_bytes)
{
	const char *part = *at;

	*at += n_bytes;
	return part;
}

/* Check that each page's entries exist, and each entry's rule. */
static bool is_table_sound(const struct file_table *t)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i <= t->fact.n_pages; i++) {
		if (t->pages[i] < before || t->pages[i] > t->fact.n_entries)
			return false;
		before = t->pages[i];
	}
	for (uint32_t i = 0; i < t->fact.n_entries; i++)
		if (t->entries[i].rule >= t->fact.n_rules)
			return false;
	return true;
}

void file_table_fini(struct file_table *t)
{
	free(t->memory);
	*t = (struct file_table){};
}

bool table_read(const void *bytes, size_t n_bytes, struct file_table *ret)
{
	const char *at = (const char *)bytes + sizeof(struct table_fact);
	struct table_fact fact;

	*ret = (struct file_table){};
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
	ret->fact = fact;
	ret->ranges = next_part(&at, n_ranges);
	ret->pages = next_part(&at, n_pages);
	ret->entries = next_part(&at, n_entries);
	ret->rules = next_part(&at, n_rules);
	return !has_table || is_table_sound(ret);
}

/* --- names --- */

struct names_payload *names_payload_new(const struct names_question *q, uint64_t *ret_n)
{
	struct names_payload *p;

	*ret_n = sizeof(*p) + q->n * sizeof(*q->offsets);
	p = xcalloc(1, *ret_n);
	if (q->hint)
		p->hint = *q->hint;
	(void)snprintf(p->path, sizeof(p->path), "%s", q->path);
	(void)snprintf(p->fetched, sizeof(p->fetched), "%s", q->fetched ? q->fetched : "");
	p->n_offsets = (uint32_t)q->n;
	for (size_t i = 0; i < q->n; i++)
		p->offsets[i] = q->offsets[i];
	return p;
}

/* Strings must not overlap, so all of them together take no more memory than the answer. */
static bool is_text_sound(const struct file_names *n, uint32_t at)
{
	return at == NO_TEXT || (at < n->fact.n_text && (at == 0 || !n->text[at - 1]));
}

static bool are_names_sound(const struct file_names *n)
{
	uint32_t next = 0; /* no two names share a call */

	for (uint32_t i = 0; i < n->fact.n; i++) {
		const struct name_fact *f = &n->facts[i];

		if (!is_text_sound(n, f->function) || f->call > n->fact.n_calls ||
		    f->n_calls > n->fact.n_calls - next || (f->n_calls && f->call != next))
			return false;
		next += f->n_calls;
	}
	for (uint32_t i = 0; i < n->fact.n_calls; i++)
		if (!is_text_sound(n, n->calls[i].name) || !is_text_sound(n, n->calls[i].file))
			return false;
	return true;
}

const char *names_text(const struct file_names *names, uint32_t at)
{
	return at == NO_TEXT ? NULL : names->text + at;
}

bool names_read(const void *bytes, size_t n_bytes, size_t n_asked, bool has_hint,
		struct file_names *ret)
{
	const char *at = (const char *)bytes + sizeof(struct symbols_fact);
	struct symbols_fact *fact = &ret->fact;

	*ret = (struct file_names){};
	if (n_bytes < sizeof(*fact))
		return false;
	memcpy(fact, bytes, sizeof(*fact));
	if (fact->n > n_asked || fact->n_text > n_bytes ||
	    fact->n_build_id > sizeof(fact->build_id) || !debug_hint_is_sound(&fact->hint))
		return false;

	const uint64_t n_facts = fact->n * (uint64_t)sizeof(struct name_fact);
	const uint64_t n_calls = fact->n_calls * (uint64_t)sizeof(struct call_fact);

	if (sizeof(*fact) + n_facts + n_calls + fact->n_text != n_bytes)
		return false;
	ret->facts = next_part(&at, n_facts);
	ret->calls = next_part(&at, n_calls);
	ret->text = next_part(&at, fact->n_text);
	return (!fact->n_text || !ret->text[fact->n_text - 1]) && are_names_sound(ret) &&
	       (!n_asked || fact->n || (fact->wants_debug && !has_hint));
}
