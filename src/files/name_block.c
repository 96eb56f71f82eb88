// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files/name_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

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

bool name_block_read(const void *bytes, size_t n_bytes, size_t n_asked, struct name_view *ret)
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

void name_block_fini(struct name_block *b)
{
	free(b->facts);
	free(b->calls);
	free(b->text);
	*b = (struct name_block){};
}

uint32_t name_block_text(struct name_block *b, const char *text)
{
	const uint32_t at = (uint32_t)b->n_text;
	const size_t n = text ? strlen(text) + 1 : 0;

	if (!text)
		return NO_TEXT;
	while (b->cap_text < b->n_text + n)
		b->text = array_room(b->text, b->cap_text, &b->cap_text, 1);
	memcpy(b->text + b->n_text, text, n);
	b->n_text += n;
	return at;
}

void name_block_add_call(struct name_block *b, const struct call_fact *call)
{
	array_push(b->calls, b->n_calls, b->cap_calls, *call);
}

void name_block_add(struct name_block *b, const struct name_fact *fact)
{
	array_push(b->facts, b->n, b->cap_facts, *fact);
}

static size_t block_bytes(const struct name_block *b)
{
	return sizeof(struct names_head) + b->n * sizeof(*b->facts) +
	       b->n_calls * sizeof(*b->calls) + b->n_text;
}

bool name_block_fits(const struct name_block *b)
{
	return block_bytes(b) <= b->size;
}

static char *append_bytes(char *to, const void *from, size_t n)
{
	if (n)
		memcpy(to, from, n);
	return to + n;
}

size_t name_block_put(const struct name_block *b, struct names_head head, char *to)
{
	head.n = (uint32_t)b->n;
	head.n_calls = (uint32_t)b->n_calls;
	head.n_text = b->n_text;
	to = append_bytes(to, &head, sizeof(head));
	to = append_bytes(to, b->facts, b->n * sizeof(*b->facts));
	to = append_bytes(to, b->calls, b->n_calls * sizeof(*b->calls));
	(void)append_bytes(to, b->text, b->n_text);
	return block_bytes(b);
}
