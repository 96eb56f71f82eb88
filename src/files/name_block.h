/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/name_block.h - the names at offsets of a file, as a parser answers ASK_NAMES.
 *
 * The block is this head, @n struct name_fact, @n_calls struct call_fact, and @n_text bytes of
 * strings with their NULs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_TEXT UINT32_MAX

struct names_head {
	uint32_t n; /* answers: for the first of the offsets, as many as fit */
	uint32_t n_calls;
	uint64_t n_text;
	uint32_t is_changed; /* somebody wrote to the file or cut it short: names may be wrong */
	uint32_t pad;
};
_Static_assert(sizeof(struct names_head) == 24, "protocol");

enum name_has {
	NAME_HAS_PLACE = 1,      /* @vaddr is valid. Without it nothing is known */
	NAME_HAS_START = 2,      /* @start is valid: the function's start */
	NAME_IS_LAST = 4,        /* @vaddr is the function's last byte, by its symbol */
	NAME_IS_BEHIND_CALL = 8, /* @vaddr is the function's start, and image_is_behind_call() */
};

struct name_fact {
	uint64_t vaddr, start;
	uint32_t function; /* offset of its name in the text; NO_TEXT: none */
	uint32_t call;     /* the first of @n_calls, innermost first */
	uint16_t n_calls;
	uint16_t has; /* enum name_has */
	uint32_t pad;
};
_Static_assert(sizeof(struct name_fact) == 32, "protocol");

struct call_fact {
	uint32_t name, file; /* offsets in the text; NO_TEXT: none */
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
 * Read the block in the @n_bytes at @bytes, which lend its parts. @bytes must be aligned as
 * malloc(3) does. False: it makes no sense as an answer about @n_asked offsets.
 */
bool name_block_read(const void *bytes, size_t n_bytes, size_t n_asked, struct name_view *ret);

/* The string at @at; NULL for NO_TEXT. */
const char *name_view_text(const struct name_view *view, uint32_t at);

/* -- To make a block. -- */

struct name_block {
	struct name_fact *facts;
	struct call_fact *calls;
	char *text;
	size_t n, n_calls, n_text;
	size_t cap_facts, cap_calls, cap_text;
	size_t size; /* bound for the whole block */
};

void name_block_fini(struct name_block *b);

/* Append @text. Returns its offset; NO_TEXT for NULL. */
uint32_t name_block_text(struct name_block *b, const char *text);

void name_block_add_call(struct name_block *b, const struct call_fact *call);
void name_block_add(struct name_block *b, const struct name_fact *fact);

/* Does the block still fit into b->size bytes? */
bool name_block_fits(const struct name_block *b);

/* Copy the block to @to, which has room for b->size bytes. Returns its bytes. */
size_t name_block_put(const struct name_block *b, struct names_head head, char *to);
