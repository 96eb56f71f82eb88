/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/name_block.h - what lies at places of a file, as a parser answers ASK_NAMES: this head,
 * @n struct name_fact, @n_calls struct call_fact, @n_text bytes of strings with their NULs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_TEXT UINT32_MAX

struct names_head {
	uint32_t n; /* of the offsets that were asked for, the first ones: as many as fit */
	uint32_t n_calls;
	uint64_t n_text;
	uint32_t is_changed; /* the file was written to, or cut short: names may be wrong */
	uint32_t pad;
};
_Static_assert(sizeof(struct names_head) == 24, "protocol");

enum name_has {
	NAME_HAS_PLACE = 1,      /* @vaddr is the place, as linked. Else nothing is known */
	NAME_HAS_START = 2,      /* @start is where the function begins */
	NAME_IS_LAST = 4,        /* byte of the function, by its symbol */
	NAME_IS_BEHIND_CALL = 8, /* image_is_behind_call(): where a function begins */
};

struct name_fact {
	uint64_t vaddr, start;
	uint32_t function; /* where its name begins; NO_TEXT: none */
	uint32_t call;     /* the first of @n_calls, innermost first */
	uint16_t n_calls;
	uint16_t has; /* enum name_has */
	uint32_t pad;
};
_Static_assert(sizeof(struct name_fact) == 32, "protocol");

struct call_fact {
	uint32_t name, file; /* where they begin; NO_TEXT: none */
	uint32_t line;
};
_Static_assert(sizeof(struct call_fact) == 12, "protocol");

struct name_view {
	const struct names_head *head;
	const struct name_fact *facts;
	const struct call_fact *calls;
	const char *text;
};

/*
 * The block in the @n_bytes at @bytes, aligned as malloc(3) does, that lend it. False: it makes no
 * sense, as an answer to a question about @n_asked offsets.
 */
bool name_block_read(const void *bytes, size_t n_bytes, size_t n_asked, struct name_view *ret);

/* The string at @at; NULL for NO_TEXT. */
const char *name_view_text(const struct name_view *view, uint32_t at);

/* -- To make one, in @size bytes at @to. -- */

struct name_block {
	struct name_fact *facts;
	struct call_fact *calls;
	char *text;
	size_t n, n_calls, n_text;
	size_t cap_facts, cap_calls, cap_text;
	size_t size; /* that all may have */
};

void name_block_fini(struct name_block *b);

/* @text once more at the end; NO_TEXT for NULL. */
uint32_t name_block_text(struct name_block *b, const char *text);

void name_block_add_call(struct name_block *b, const struct call_fact *call);
void name_block_add(struct name_block *b, const struct name_fact *fact);

/* Does it fit into b->size still? */
bool name_block_fits(const struct name_block *b);

/* Copy all to @to, which has b->size bytes. Returns how many that were. */
size_t name_block_put(const struct name_block *b, struct names_head head, char *to);
