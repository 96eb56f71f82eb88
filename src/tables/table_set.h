/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables/table_set.h - the unwind tables of files. Each is made once, and published in slabs. */
#pragma once

#include <stdint.h>

#include "bpf/tables.h"
#include "files/files.h"
#include "tables/memory.h"

struct table_set;

/* All are borrowed. @files makes tables, @memory stores them, @object has the map 'files'. */
struct table_set *table_set_new(struct unwind_memory *memory, struct object *object,
				struct files *files);
void table_set_free(struct table_set *t);

/*
 * Begin a turn, which dates the use of tables. Call it from time to time. If there are very many
 * files, forgets those that were not used lately. @now: ns of CLOCK_MONOTONIC.
 */
void table_set_turn(struct table_set *t, uint64_t now);

enum table_wish {
	TABLE_AS_IS,  /* do not make one: UNWIND_NOT_YET */
	TABLE_AHEAD,  /* make it if there is room, which may take seconds; else UNWIND_NOT_YET */
	TABLE_IN_USE, /* make it; what is not in use gives way */
};

/*
 * How to walk code in @m, a mapping of process @pid: fills in the image, bias and how of @ret.
 * @file is the file's state (files_list()). If it is NULL, a child finds the state. Never
 * fails: code without a table is walked by frame pointers.
 */
void table_set_find(struct table_set *t, uint32_t pid, const struct mapping *m,
		    const struct file_fact *file, enum table_wish wish, struct unwind_mapping *ret);

/*
 * Something has no room, because of @why. Drop the tables that no program used lately. Tells the
 * user. False: that was tried a moment ago.
 */
bool table_set_make_room(struct table_set *t, const char *why);

/* Print images and tables to standard error, for --debug. */
void table_set_describe(const struct table_set *t);
