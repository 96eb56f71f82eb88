/*
 * reader/debug_symbols.h - where the symbols of a file are looked for that was stripped, wholly
 * or in part: in its debug file, as the process sees the file system, then as we do; in the file
 * itself (.gnu_debugdata); then on servers, if it has no .symtab.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/remote_files.h"

struct debug_symbols;
struct debuginfod;

/* @files is kept. @servers: NULL: none is asked. debug_symbols_free() frees it. */
struct debug_symbols *debug_symbols_new(struct remote_files *files, struct debuginfod *servers);
void debug_symbols_free(struct debug_symbols *ds);

/* A file that a parser has open for names (ASK_SYMBOLS). */
struct parsed_file {
	unsigned role; /* of the parser */
	int32_t parser;
	uint32_t number;
	uint32_t owner;           /* user */
	uint64_t dev;             /* of the file */
	const char *name;         /* for messages */
	struct symbols_fact fact; /* as foreign as the file */
	bool is_searched; /* debug_symbols_add() sets it: @parser has the embedded symbols, if
			     there are any, and servers have answered. Do not ask again */
};

/*
 * Give the parser of @file other symbols for it: of its debug file, embedded ones, or a server's.
 * Processes of @root, a handle (HANDLE_NONE: our own), have the file at @path. Not finding any is
 * no error. Adds to *@cpu_ns the CPU time of the parser, in ns. Errors:
 *	-EAGAIN  there may be a debug file: a helper was ended, or a file system did not answer
 */
must_check int debug_symbols_add(struct debug_symbols *ds, struct parsed_file *file, int root,
				 const char *path, uint64_t *cpu_ns);
