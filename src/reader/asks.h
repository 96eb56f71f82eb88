/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/asks.h - the requests to helpers, and the layout of answers in their areas.
 *
 * Messages have fixed sizes and no pointers. The receiver of an answer checks it as foreign.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/user_step.h"
#include "elf/debug.h"
#include "reader/finding.h"
#include "reader/mappings.h"

/* The helpers: entries of reader_roles (reader/roles.h). */
enum {
	ROLE_OPENER,
	ROLE_PARSER, /* reads files that only root can write to */
	/* Reads all others. So a hostile file changes no answer about root's. */
	ROLE_PARSER_OF_OTHERS,
	READER_ROLES
};

/* The lanes, by purpose of their helpers. */
enum {
	FOR_TABLES,    /* unwind tables, and those made ahead */
	FOR_FOLLOWING, /* mappings and perf maps. Capture waits for a moment at most */
	FOR_NAMES,     /* symbols and source lines. Capture goes on meanwhile */
	READER_LANES
};

enum reader_ask {
	/* -- Openers. About process @pid: -- */

	/* Its executable mappings. Answer: a block. */
	ASK_LIST = 1,
	/* Payload: a block. @flags: enum find_where. Answer: a file_fact for each mapping. */
	ASK_STATES,
	/*
	 * Send a file to a parser, if it is as expected. Payload: a file_payload and a block of
	 * one. @flags: enum find_where.
	 */
	ASK_FILE,
	/* Hold a file. Payload: an open_payload and a block of one. Answer: an open_fact. */
	ASK_OPEN,
	/* Hold its root directory. Answer: an open_fact. */
	ASK_ROOT,

	/* -- Openers: -- */

	/*
	 * Hold a debug file. Payload: a debug_payload and a path. Answer: an open_fact. @n counts
	 * candidates that the opener could not look at, also if there is an error.
	 */
	ASK_OPEN_DEBUG,
	/* Payload: handles. Answer: a file_fact for each. */
	ASK_FACTS,
	/* Send a file to a parser. Payload: a send_payload. */
	ASK_SEND,
	/* Close handles, the payload. */
	ASK_CLOSE,
	/*
	 * Look at a perf map. Payload: a perf_payload. Answer: a perf_fact, and text after it if it
	 * is wanted. Errors: -ENOENT there is no file; -EPERM the opener refuses it, and the words
	 * say why.
	 */
	ASK_PERF_MAP,

	/* -- Parsers: -- */

	/*
	 * Make a table of file @file, which an opener sent. Payload: its name. Answer: a
	 * table_fact. If the result is an error, @n is 1 for a file that is not ELF. It is 0 if the
	 * parser did not get the file.
	 */
	ASK_TABLE,
	/* Make a table of an image in memory, the payload. Answer: as above. */
	ASK_MEMORY,
	/*
	 * Open file @file, which an opener sent, for names. Payload: its name. Answer: a
	 * symbols_fact. Errors: -ESTALE the parser did not get the file; others: it is not ELF.
	 */
	ASK_SYMBOLS,
	/* Open an image in memory, the payload, for names. Answer: as above. */
	ASK_SYMBOLS_OF_MEMORY,
	/*
	 * Take symbols for @file from file @root, which an opener sent. With @root 0, take the
	 * embedded ones. Errors: -ENOENT there are none; -ESTALE a file is not there (any more).
	 */
	ASK_DEBUG,
	/*
	 * Name @n offsets of @file, the payload. @flags: enum names_flag. Answer: name_block.h.
	 * Errors: -ESTALE the file is not there (any more).
	 */
	ASK_NAMES,
};

enum names_flag {
	NAMES_LINES = 1, /* with source lines and inlined functions */
	NAMES_RAW = 2,   /* as in the symbol table, not demangled */
};

#define OPENER_AREA (16UL << 20)
#define PARSER_AREA (80UL << 20)
#define MAX_TABLE_BYTES (64UL << 20)
#define MOST_RANGES 64

/*
 * A block is a list of mappings in one piece: this head, @n struct listed, and @n_text bytes of
 * paths with their NULs.
 */
struct block_head {
	uint32_t n, tid;
	uint64_t n_text;
};

struct listed {
	uint64_t start, end, offset, dev, inode;
	uint32_t path; /* offset in the paths */
	uint32_t is_deleted;
};

/*
 * Make a block of the first of @n mappings at @m, as many as fit into @size bytes. The caller frees
 * it.
 */
void *block_make(const struct mapping *m, size_t n, uint32_t tid, size_t size, size_t *ret_n_bytes);

/* Make a payload of the @n_head bytes at @head and a block of @m alone. The caller frees it. */
void *block_behind(const void *head, size_t n_head, const struct mapping *m, uint32_t tid,
		   size_t *ret_n_bytes);

/*
 * Read the mappings in the @n_bytes at @block, which lends their paths. They must rise in address
 * and not overlap, unless @is_any_order. False: they make no sense.
 */
bool block_read(const void *block, size_t n_bytes, bool is_any_order, struct mapping_list *ret);

/*
 * The state of a file; zeros if it cannot be found (any more). Device and inode are those of
 * stat(2). A list of mappings may show others (btrfs, overlayfs).
 */
struct file_fact {
	uint64_t dev, inode;
	uint64_t size, changed; /* changed: seconds */
	uint32_t changed_ns;
	uint16_t is_there;
	uint16_t is_roots; /* root alone can write to it; not on FUSE, overlayfs or remote */
	uint32_t owner;    /* user */
	uint32_t pad;
};
_Static_assert(sizeof(struct file_fact) == 48, "protocol");

/*
 * Do both mean the same file and contents, as far as these members show? The inode's time of change
 * (ctime) does not count. Replacing a library unlinks the old file, which changes its ctime and no
 * byte.
 */
static inline bool file_fact_is_equal(const struct file_fact *a, const struct file_fact *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed == b->changed && a->changed_ns == b->changed_ns;
}

struct file_payload {
	struct file_fact expected;
	uint32_t number; /* of the file, for the parser */
	uint32_t files;  /* where openers send it (client_address()) */
	int32_t to;
	uint32_t pad;
};

struct open_payload {
	int32_t root;   /* for FIND_BELOW: a handle; -1: none */
	uint32_t where; /* enum find_where */
};

struct open_fact {
	struct file_fact fact;
	int32_t handle;
	uint32_t at; /* ASK_OPEN_DEBUG: the candidate's number */
};
_Static_assert(sizeof(struct open_fact) == 56, "protocol");

struct debug_payload {
	struct debug_hint hint;
	int32_t root;  /* a handle; -1: our root directory */
	uint32_t from; /* number of the first candidate */
	uint32_t user; /* the file's owner: this user, or everybody, may read its debug file */
};

struct send_payload {
	struct file_fact expected;
	int32_t handle;
	uint32_t number; /* of the file, for the parser */
	uint32_t files;  /* where openers send it (client_address()) */
	int32_t to;
};

/* For perf map @number below @root. */
struct perf_payload {
	uint64_t offset; /* of the wanted text */
	int32_t root;    /* a handle */
	uint32_t number;
	uint32_t user; /* its owner must be this user or root */
	uint32_t wants_text;
};

struct perf_fact {
	uint64_t dev, inode, size;
	uint64_t changed_ns; /* CLOCK_REALTIME */
};

#define MOST_BUILD_ID_BYTES 20

struct symbols_fact {
	struct debug_hint hint;
	uint8_t build_id[MOST_BUILD_ID_BYTES]; /* the build ID that the kernel reports */
	uint32_t n_build_id;                   /* its bytes */
	uint32_t has_symtab;
	uint32_t is_go; /* it has Go's table of functions */
};

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
