/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/answer.h - the layout of payloads and answers in an area (question.h).
 *
 * They have fixed sizes and no pointers. The receiver of an answer checks it as foreign.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/user_step.h"
#include "elf/debug.h"
#include "files/question.h"

#define AREA_BYTES (80UL << 20)
#define MAX_TABLE_BYTES (64UL << 20)
#define MAX_LIST_BYTES (16UL << 20)
#define MOST_RANGES 64
#define LARGEST_ERRNO 4095

/* --- perf maps --- */

struct perf_fact {
	uint64_t dev, inode, size;
	uint64_t changed_ns; /* CLOCK_REALTIME */
};

/* --- tables --- */

/* An executable segment of a file. */
struct range_fact {
	uint64_t offset, vaddr, n_bytes;
};

/* Ranges, pages (@n_pages + 1), entries and rules (bpf/user_step.h) follow it. */
struct table_fact {
	uint64_t base;
	int32_t result; /* 0; else no table, and the words say why. -ENOENT: the file has no data
			   for one */
	uint32_t n_ranges, n_pages, n_entries, n_rules, pad;
};
_Static_assert(sizeof(struct table_fact) == 32, "protocol");

struct table_view {
	uint64_t base;
	uint32_t n_ranges, n_pages, n_entries, n_rules;
	const struct range_fact *ranges;
	const uint32_t *pages; /* n_pages + 1 elements, or none */
	const struct unwind_entry *entries;
	const struct unwind_rule *rules;
};

/*
 * Read the table in the @n_bytes at @bytes, which lend its parts. @bytes must be aligned as
 * malloc(3) does. *@ret_result is the result of its table_fact. False: it makes no sense.
 */
bool table_read(const void *bytes, size_t n_bytes, int32_t *ret_result, struct table_view *ret);

/* --- names --- */

/* Behind it: @n_offsets uint64_t, then the paths with their NULs. */
struct names_payload {
	struct debug_hint hint; /* from an earlier symbols_fact; zeros: none is known */
	uint32_t n_offsets;
	uint32_t n_path;    /* the file's path, below the question's root */
	uint32_t n_fetched; /* a debug file in our file system, from a server; 0: none */
	uint32_t pad;
};

#define MOST_BUILD_ID_BYTES 20

/* Where symbols come from that the file itself does not have. */
enum debug_source { DEBUG_NONE, DEBUG_FILE, DEBUG_EMBEDDED };

struct symbols_fact {
	struct debug_hint hint;
	uint8_t build_id[MOST_BUILD_ID_BYTES]; /* the build ID that the kernel reports */
	uint32_t n_build_id;                   /* its bytes */
	uint16_t has_symtab;
	uint16_t wants_debug; /* there may be a debug file. If names were asked, ask with @hint */
	uint16_t is_go;       /* it has Go's table of functions */
	uint16_t source;      /* enum debug_source */
	uint16_t is_debug_missed; /* no source: a debug file could not be opened. Ask again later */
	uint16_t pad;
};
_Static_assert(sizeof(struct symbols_fact) % 8 == 0, "a block of names follows");

/*
 * A block of names at offsets of the file: this head, @n struct name_fact, @n_calls struct
 * call_fact, and @n_text bytes of strings with their NULs.
 */
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
 * Read the fact in the @n_bytes at @bytes, and the block of names behind it, which lends its parts.
 * @bytes must be aligned as malloc(3) does. There must be a name, unless @n_asked is 0 or
 * @ret_fact->wants_debug. False: it makes no sense as an answer about @n_asked offsets.
 */
bool symbols_read(const void *bytes, size_t n_bytes, size_t n_asked, struct symbols_fact *ret_fact,
		  struct name_view *ret);

/* The string at @at; NULL for NO_TEXT. */
const char *name_view_text(const struct name_view *view, uint32_t at);
