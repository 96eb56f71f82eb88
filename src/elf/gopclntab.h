/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/gopclntab.h - the functions of a Go program, by .gopclntab. Go's runtime walks stacks and
 * names frames by this table, so every Go program has it, even a stripped one.
 */
#pragma once

#include "elf/cursor.h"

struct image;

/* The parts of a table. The image lends all of it. */
struct go_table {
	struct slice functions; /* n pairs: start of a function, offset of its record from here;
				   the end of the last one; records */
	struct slice names;
	struct slice steps;
	uint64_t text; /* to be added to starts of functions */
	uint32_t n;
	uint8_t flags_at; /* the offset of the flags in a record */
};

/* Does @im have a table, in whatever format? */
bool image_is_go(const struct image *im);

/* False: @im has no table, or it makes no sense, or its format is unknown (before Go 1.18). */
bool go_table_of(const struct image *im, struct go_table *ret);

/* Flags of a function, for the runtime's walks. */
enum go_flag {
	GO_TOP_FRAME = 1, /* the outermost function of a stack */
	GO_SP_WRITE =
		2,  /* switches stacks, or moves the stack pointer as the table cannot express */
	GO_ASM = 4, /* written in assembly */
};

struct go_function {
	const char *name; /* "main.(*T).method"; "" if there is none. Lent by the image */
	uint64_t start;
	uint64_t end;   /* the end of its last instruction, without padding */
	uint8_t flags;  /* enum go_flag */
	uint32_t steps; /* offset of its steps; 0: none, as for C code that Go's own linker added */
};

/* Function @i, below n. Functions have ascending addresses and do not overlap. False: function @i
 * has no code or no record. */
bool go_function_at(const struct go_table *t, uint32_t i, struct go_function *ret);

/* The function that begins at @vaddr. False: none does. */
bool go_function_from(const struct go_table *t, uint64_t vaddr, struct go_function *ret);

/* Does the table have steps of the stack pointer for function @i? Not for C code that Go's own
 * linker added. */
bool go_has_steps(const struct go_table *t, uint32_t i);

/* The start of function @i; for i = n: the end of the last one. */
uint64_t go_function_start(const struct go_table *t, uint32_t i);

/*
 * A step: in [start, end) the stack pointer is @delta bytes below its value at the function's first
 * instruction. A function has at most as many steps as bytes.
 */
struct go_steps {
	struct slice left;
	uint64_t start;
	uint64_t end;
	uint64_t limit;
	int32_t delta;
};

struct go_steps go_steps_of(const struct go_table *t, const struct go_function *f);

/* Go to the next step, or to the first. False: there are no more, or it makes no sense. */
bool go_next_step(struct go_steps *s);
