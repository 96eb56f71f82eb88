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

#include "base/error.h"
#include "bpf/object.h"

struct unwind_memory;

/* Give out at most @max_bytes, in whole slabs. @object is borrowed. */
struct unwind_memory *unwind_memory_new(struct object *object, uint64_t max_bytes);
void unwind_memory_free(struct unwind_memory *m);

/*
 * Allocate @bytes and copy @data there. *@ret is the place, a multiple of 32.
 * Errors: -E2BIG not enough memory is left; others of the kernel.
 */
must_check int unwind_memory_put(struct unwind_memory *m, const void *data, size_t bytes,
				 uint32_t *ret, struct error *e);
/* Overwrite the piece at @place. Running programs may see a part of the change. */
void unwind_memory_write(const struct unwind_memory *m, uint32_t place, const void *data,
			 size_t bytes);
/* The 32-bit number at @place, a multiple of 4. @m lends it. */
uint32_t *unwind_memory_number(const struct unwind_memory *m, uint32_t place);
/*
 * Read the 32-bit number at @place. False: there is no such place. Tables come from foreign files,
 * so their places may be anything.
 */
bool unwind_memory_read(const struct unwind_memory *m, uint32_t place, uint32_t *ret);
void unwind_memory_drop(struct unwind_memory *m, uint32_t place, size_t bytes);

/* In bytes: the bound, the allocated pieces, and the memory of the kernel for all slabs. */
uint64_t unwind_memory_most(const struct unwind_memory *m);
uint64_t unwind_memory_used(const struct unwind_memory *m);
uint64_t unwind_memory_held(const struct unwind_memory *m);
