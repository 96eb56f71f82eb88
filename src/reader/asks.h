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
#include "elf/debug.h"
#include "reader/finding.h"
#include "reader/mappings.h"

/* The helpers: entries of reader_roles (reader/roles.h). */
enum {
	ROLE_OPENER,
	ROLE_PARSER,           /* of files that only root can write to */
	ROLE_PARSER_OF_OTHERS, /* so what others put into theirs changes no answer about those */
	READER_ROLES
};

/* The lanes: what helpers are for. */
enum {
	FOR_TABLES,    /* unwind tables, and what is made ahead of the unwinder's thread */
	FOR_FOLLOWING, /* what processes have mapped, and perf maps. Capture waits a moment at most
			*/
	FOR_NAMES,     /* symbols and lines. Capture goes on meanwhile */
	READER_LANES
};

enum reader_ask {
	/* Openers. Of process @pid: */
	ASK_LIST = 1, /* its executable mappings; answer: a block */
	ASK_STATES, /* the files of a block of mappings; answer: a file_fact for each. @flags: enum
		       find_where */
	ASK_FILE,   /* struct file_payload and a block of one: to a parser, if it is that file.
		       @flags: enum find_where */
	ASK_OPEN,   /* struct open_payload, a block of one; answer: an open_fact */
	ASK_ROOT,   /* its root directory; answer: an open_fact */
	ASK_OPEN_DEBUG, /* struct debug_payload, a path; answer: an open_fact. @n, also with an
			   error: how many candidates the opener could not look at */
	ASK_FACTS,      /* handles; answer: a file_fact for each */
	ASK_SEND,       /* struct send_payload: to a parser */
	ASK_CLOSE,      /* handles */
	ASK_PERF_MAP,   /* struct perf_payload; answer: a perf_fact, and text behind it. Errors:
			   -ENOENT there is no file; -EPERM it is not taken, and why */
	/* Parsers: */
	ASK_TABLE,   /* of file @file that it was sent; payload: its name; answer: a table_fact. If
			the answer's result is an error, its @n is 1 for a file that is not ELF, and
			0 if the file was not sent */
	ASK_MEMORY,  /* the same of the image in memory that is the payload */
	ASK_SYMBOLS, /* open file @file that it was sent, for names; payload: its name; answer: a
			symbols_fact. Errors: -ESTALE it was not sent; others: it is not ELF */
	ASK_SYMBOLS_OF_MEMORY, /* the same of the image in memory that is the payload */
	ASK_DEBUG, /* file @root that it was sent has symbols for @file? With @root 0: what is
		      embedded in it. Errors: -ENOENT no; -ESTALE a file is not there (any more) */
	ASK_NAMES, /* what lies at @n offsets of @file, the payload. @flags: enum names_flag.
		      Answer: name_block.h. Errors: -ESTALE the file is not there (any more) */
};

enum names_flag {
	NAMES_LINES = 1, /* with source lines and inlined functions */
	NAMES_RAW = 2,   /* as in the symbol table, not demangled */
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

/* A payload: the @n_head bytes at @head, and behind them a block of @m alone. To free(). */
void *block_behind(const void *head, size_t n_head, const struct mapping *m, uint32_t tid,
		   size_t *ret_n_bytes);

/*
 * The mappings in the @n_bytes at @block, whose paths are lent by it: by rising address, and not
 * overlapping, unless @is_any_order. False: they make no sense.
 */
bool block_read(const void *block, size_t n_bytes, bool is_any_order, struct mapping_list *ret);

/*
 * Zeroed where the file cannot be found (any more). Device and inode are those of stat(2), which
 * may be others than a list of mappings shows (btrfs, overlayfs).
 */
struct file_fact {
	uint64_t dev, inode;
	uint64_t size, changed; /* seconds */
	uint32_t changed_ns;
	uint16_t is_there;
	uint16_t is_roots; /* only root can write to it, and no file system is a process */
	uint32_t owner;    /* user */
	uint32_t pad;
};
_Static_assert(sizeof(struct file_fact) == 48, "protocol");

/*
 * The same file and contents, as far as this tells? Not by the time of change of the inode (ctime):
 * whoever replaces a library unlinks the old one, which changes that, and no byte of it.
 */
static inline bool file_fact_is_equal(const struct file_fact *a, const struct file_fact *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed == b->changed && a->changed_ns == b->changed_ns;
}

struct file_payload {
	struct file_fact expected;
	uint32_t number; /* of the file, for the parser */
	uint32_t files;  /* the parser, as the lane names it */
	int32_t to;
	uint32_t pad;
};

struct open_payload {
	int32_t root;   /* of FIND_BELOW, a handle; -1: none */
	uint32_t where; /* enum find_where */
};

struct open_fact {
	struct file_fact fact;
	int32_t handle;
	uint32_t at; /* debug files: the candidate's number */
};
_Static_assert(sizeof(struct open_fact) == 56, "protocol");

struct debug_payload {
	struct debug_hint hint;
	int32_t root;  /* -1: ours */
	uint32_t from; /* the number of the first candidate */
	uint32_t user; /* who owns the file: he, or everybody, may read its debug file */
};

struct send_payload {
	struct file_fact expected;
	int32_t handle;
	uint32_t number; /* of the file, for the parser */
	uint32_t files;  /* the parser, as the lane names it */
	int32_t to;
};

#define PERF_TAIL_BYTES 64

/* Perf map number @number below @root, or, with number 0, the one that is held alone (of there). */
struct perf_payload {
	uint64_t dev, inode, offset; /* of the held file: what was read of it */
	int32_t root;
	int32_t held; /* a handle; -1: none */
	uint32_t number;
	uint32_t user;   /* that it must be of, if not of root */
	uint32_t n_tail; /* bytes of @tail: what stands before @offset */
	char tail[PERF_TAIL_BYTES];
	uint32_t pad;
};

struct perf_fact {
	uint64_t dev, inode, size;
	uint64_t changed_ns; /* CLOCK_REALTIME */
	int32_t handle;      /* of another file than the held one; else -1 */
	uint32_t is_anew;    /* the held file was written anew: the text is from its beginning */
};

#define MOST_TOLD_BYTES 20

struct symbols_fact {
	struct debug_hint hint;
	uint8_t told[MOST_TOLD_BYTES]; /* the build ID as the kernel tells it, */
	uint32_t n_told;               /* of so many bytes */
	uint32_t has_symtab;
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
