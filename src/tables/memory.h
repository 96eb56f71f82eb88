/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/memory.h - an allocator of the slabs that BPF programs read (bpf/tables.h).
 *
 * Running programs may still read a piece that user space has dropped. The allocator uses the piece
 * again only after these programs have ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"

struct unwind_memory;

/* Give out at most @max_bytes, in whole slabs. @object is borrowed. */
struct unwind_memory *unwind_memory_new(struct object *object, uint64_t max_bytes);
void unwind_memory_free(struct unwind_memory *m);

/*
 * Allocate @bytes. *@ret is the place, a multiple of 32.
 * Errors: -E2BIG not enough memory is left; others of the kernel.
 */
must_check int unwind_memory_allocate(struct unwind_memory *m, size_t bytes, uint32_t *ret,
				      struct error *e);

/* The memory at @place, which was allocated. @m lends it. */
void *unwind_memory_at(const struct unwind_memory *m, uint32_t place);

/*
 * Likewise, for @bytes at any @place. NULL: no memory is there, or it is not aligned to 4 bytes.
 */
const void *unwind_memory_find(const struct unwind_memory *m, uint32_t place, size_t bytes);
void unwind_memory_drop(struct unwind_memory *m, uint32_t place, size_t bytes);

/* In bytes: the bound, the allocated pieces, and the memory of the kernel for all slabs. */
uint64_t unwind_memory_most(const struct unwind_memory *m);
uint64_t unwind_memory_used(const struct unwind_memory *m);
uint64_t unwind_memory_held(const struct unwind_memory *m);
