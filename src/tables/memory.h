/*
 * tables/memory.h - the memory that the programs walk by (bpf/tables.h), given out in pieces.
 *
 * A piece that is given back may still be read by programs that run now. It is given out
 * again when those have ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/object.h"

struct unwind_memory;

/* At most @max_bytes of it, in whole slabs. @object is kept. */
struct unwind_memory *unwind_memory_new(struct object *object, uint64_t max_bytes);
void unwind_memory_free(struct unwind_memory *m);

/*
 * A piece of @bytes, filled from @data; *@ret is its place, a multiple of 32.
 * Errors: -E2BIG there is not so much left; others from the kernel.
 */
must_check int unwind_memory_put(struct unwind_memory *m, const void *data, size_t bytes,
				 uint32_t *ret, struct error *e);
/* Is @data what was put at @place? */
bool unwind_memory_has(const struct unwind_memory *m, uint32_t place, const void *data,
		       size_t bytes);
/* Write over what was put at @place. Programs may see part of it. */
void unwind_memory_write(const struct unwind_memory *m, uint32_t place, const void *data,
			 size_t bytes);
/* The number of 4 bytes at @place, a multiple of 4. Lent by @m. */
uint32_t *unwind_memory_number(const struct unwind_memory *m, uint32_t place);
void unwind_memory_drop(struct unwind_memory *m, uint32_t place, size_t bytes);

/*
 * Of lists of mappings that were dropped, children of the process may have copies. Take these from
 * the programs, which then ask the kernel what the children have mapped. False: there are none.
 */
bool unwind_memory_withdraw(struct unwind_memory *m);

/* How much there may be, how much is in use, and how much the kernel holds for it. In bytes. */
uint64_t unwind_memory_most(const struct unwind_memory *m);
uint64_t unwind_memory_used(const struct unwind_memory *m);
uint64_t unwind_memory_held(const struct unwind_memory *m);
