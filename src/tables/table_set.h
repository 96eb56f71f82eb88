/* tables/table_set.h - the tables of files, each made once and kept where the programs find it. */
#pragma once

#include <stdint.h>

#include "bpf/tables.h"
#include "host/mappings.h"
#include "tables/memory.h"

struct table_set;

/* Both are kept; @object is told of what was made. */
struct table_set *table_set_new(struct unwind_memory *memory, struct object *object);
void table_set_free(struct table_set *t);

/*
 * What is to be walked by where process @pid maps @m: @ret has its image, bias and how. @may_make:
 * its table may be made now, which takes up to seconds; else what is not there is UNWIND_NOT_YET.
 * Never fails: for what has no table there are frame pointers.
 */
void table_set_find(struct table_set *t, uint32_t pid, const struct mapping *m, bool may_make,
		    struct unwind_mapping *ret);

/* For --debug. */
void table_set_describe(const struct table_set *t);
