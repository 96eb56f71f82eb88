/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/debug_symbols.h - finds symbols for a file that was stripped, wholly or in part.
 *
 * It looks for a debug file, first in the process's file system, then in ours. Then it looks in the
 * file itself (.gnu_debugdata). If the file has no .symtab, it then asks debuginfod servers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/remote_files.h"

struct debug_symbols;
struct debuginfod;

/* @files must outlive the result. The result owns @servers; NULL: ask no server. */
struct debug_symbols *debug_symbols_new(struct remote_files *files, struct debuginfod *servers);
void debug_symbols_free(struct debug_symbols *ds);

/* A file that a parser has open for names (ASK_SYMBOLS). */
struct parsed_file {
	unsigned role; /* the parser's */
	int32_t parser;
	uint32_t number;
	uint32_t owner;           /* user */
	uint64_t dev;             /* of the file */
	const char *name;         /* for messages */
	struct symbols_fact fact; /* as foreign as the file */
	bool is_searched; /* debug_symbols_add() is done with embedded symbols and servers */
};

/*
 * Give the parser of @file further symbols: those of a debug file, embedded ones, or a server's.
 * Processes with root directory @root have the file at @path. @root is a handle; HANDLE_NONE means
 * our own root. It is no error if there are none. Adds the parser's CPU time in ns to *@cpu_ns.
 * Errors:
 *	-EAGAIN  there may be a debug file: the lane ended a helper, or a file system did not answer
 */
must_check int debug_symbols_add(struct debug_symbols *ds, struct parsed_file *file, int root,
				 const char *path, uint64_t *cpu_ns);
