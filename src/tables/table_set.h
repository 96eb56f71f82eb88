/* tables/table_set.h - the tables of files, each made once and kept where the programs find it. */
#pragma once

#include <stdint.h>

#include "bpf/tables.h"
#include "tables/ahead.h"
#include "tables/memory.h"
#include "tables/remote.h"

struct table_set;

/* All are kept; @object is told of what was made, which @remote makes. */
struct table_set *table_set_new(struct unwind_memory *memory, struct object *object,
				struct remote *remote);
void table_set_free(struct table_set *t);

/* Take tables from @ahead, which is handed over, before making them. */
void table_set_take_from(struct table_set *t, struct ahead *ahead);

/*
 * From time to time, so that it is known what is in use. Of very many files, those that were not
 * used lately are forgotten. @now: ns of CLOCK_MONOTONIC.
 */
void table_set_turn(struct table_set *t, uint64_t now);

enum table_wish {
	TABLE_AS_IS,  /* what is not made is UNWIND_NOT_YET */
	TABLE_AHEAD,  /* made, up to seconds, if there is room; else UNWIND_NOT_YET */
	TABLE_IN_USE, /* made; tables that were not used lately make room */
};

/*
 * What is to be walked by where process @pid maps @m: @ret has its image, bias and how. @told is
 * the file's state (remote_identify()); NULL: find it. Never fails: for what has no table there are
 * frame pointers.
 */
void table_set_find(struct table_set *t, uint32_t pid, const struct mapping *m,
		    const struct file_state *told, enum table_wish wish,
		    struct unwind_mapping *ret);

/*
 * Lists of mappings that only children have go (unwind_memory_withdraw()), or else the table that
 * was not used for the longest time. False: all are in use.
 */
bool table_set_make_room(struct table_set *t);

/*
 * The file of @inode on @dev (FILE_DEV()) was missed by a process that may have gone: if its table
 * was given up, it is made again.
 */
void table_set_again(struct table_set *t, uint64_t inode, uint32_t dev);

/* ns of CPU time that its thread has spent on new tables. */
uint64_t table_set_cost(const struct table_set *t);

/* For --debug. */
void table_set_describe(const struct table_set *t);
