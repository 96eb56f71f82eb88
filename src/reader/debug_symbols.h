/*
 * reader/debug_symbols.h - where the symbols of a file are looked for that was stripped, wholly
 * or in part: in its debug file, as the process sees the file system, then as we do; in the file
 * itself (.gnu_debugdata); then on servers, if it has no .symtab.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/image.h"

struct debug_symbols;
struct debuginfod;

/* @servers: NULL: none is asked. debug_symbols_free() frees it. */
struct debug_symbols *debug_symbols_new(struct debuginfod *servers);
void debug_symbols_free(struct debug_symbols *ds);

/*
 * Give @im what there is of symbols for it beside its own. @path is where processes
 * of @root have it, a directory's descriptor that is kept (-1: our own); @name is for messages. Not
 * having found any is no error.
 */
void debug_symbols_add(struct debug_symbols *ds, struct image *im, int root, const char *path,
		       const char *name);
