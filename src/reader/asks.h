/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/asks.h - what helpers are asked for, and how answers lie in their areas. Fixed sizes and
 * no pointers; whoever reads an answer checks it as foreign.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/walk.h"
#include "reader/mappings.h"

/* The helpers: entries of reader_roles (reader/roles.h). */
enum {
	ROLE_OPENER,
	ROLE_PARSER,           /* of files that only root can write to */
	ROLE_PARSER_OF_OTHERS, /* so what others put into theirs changes no answer about those */
	READER_ROLES
};

enum reader_ask {
	/* Openers. Of process @pid: */
	ASK_LIST = 1, /* its executable mappings; answer: a block */
	ASK_STATES,   /* the files of a block of mappings; answer: a file_fact for each */
	ASK_FILE,     /* struct file_payload and a block of one: to a parser, if it is that file */
	/* Parsers: */
	ASK_TABLE,  /* of file @file that it was sent; payload: its name; answer: a table_fact. If
		       the  answer's result is an error, its @n is 1 for a file that is not ELF, and
		       0  if  the file was not sent */
	ASK_MEMORY, /* the same of the image in memory that is the payload */
};

#define OPENER_AREA (16UL << 20)
#define PARSER_AREA (80UL << 20)
#define MAX_TABLE_BYTES (64UL << 20)
#define MOST_RANGES 64

/* A list of mappings in one piece: this, @n struct listed, @n_text bytes of paths with their NULs.
 */
struct block_head {
	uint32_t n, tid;
	uint64_t n_text;
};

struct listed {
	uint64_t start, end, offset, dev, inode;
	uint32_t path; /* bytes from the beginning of all paths */
	uint32_t is_deleted;
};

/* A block of the first ones of @n mappings at @m, as many as fit into @size bytes. To free(). */
void *block_make(const struct mapping *m, size_t n, uint32_t tid, size_t size, size_t *ret_n_bytes);

/*
 * The mappings in the @n_bytes at @block, whose paths are lent by it: by rising address, and not
 * overlapping, unless @is_any_order. False: they make no sense.
 */
bool block_read(const void *block, size_t n_bytes, bool is_any_order, struct mapping_list *ret);

/* Zeroed where the file cannot be found (any more). */
struct file_fact {
	uint64_t size, changed; /* seconds */
	uint32_t changed_ns;
	uint16_t is_there;
	uint16_t is_roots; /* only root can write to it, and no file system is a process */
	uint32_t owner;    /* user */
	uint32_t pad;
};
_Static_assert(sizeof(struct file_fact) == 32, "protocol");

struct file_payload {
	struct file_fact expected;
	uint32_t number; /* of the file, for the parser */
	uint32_t files;  /* the parser, as the lane names it */
	int32_t to;
	uint32_t pad;
};

/* A piece of code: an executable segment, as the file has it. */
struct range_fact {
	uint64_t offset, vaddr, n_bytes;
};

/* Behind it: ranges, pages (one more than @n_pages), entries, rules (bpf/walk.h). */
struct table_fact {
	uint64_t base;
	int32_t result; /* 0; else there is no table, and the answer's words say why. -ENOENT: the
			   file has nothing to make one of */
	uint32_t n_ranges, n_pages, n_entries, n_rules, pad;
};
_Static_assert(sizeof(struct table_fact) == 32, "protocol");

struct table_view {
	uint64_t base;
	uint32_t n_ranges, n_pages, n_entries, n_rules;
	const struct range_fact *ranges;
	const uint32_t *pages; /* n_pages + 1, or none */
	const struct unwind_entry *entries;
	const struct unwind_rule *rules;
};

/*
 * The table in the @n_bytes at @bytes, aligned as malloc(3) does, that lend it. *@ret_result is
 * that of its table_fact. False: it makes no sense.
 */
bool table_read(const void *bytes, size_t n_bytes, int32_t *ret_result, struct table_view *ret);
