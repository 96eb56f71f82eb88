/*
 * elf/gopclntab.h - the functions of a Go program, by the table that its runtime walks stacks and
 * names frames by. No Go program is without one, stripped or not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct go_format;

struct go_bytes {
	const uint8_t *data;
	size_t size;
};

/* All of it is lent by the image. */
struct go_table {
	const struct go_format *format;
	struct go_bytes
		functions; /* n of them: where each begins and where its record is; the end */
	struct go_bytes records;
	struct go_bytes names;
	struct go_bytes steps;
	uint64_t text; /* is added to where functions begin */
	uint32_t n;
	bool has_flags; /* Go 1.17 and later */
	bool has_asm;   /* GO_ASM among them: Go 1.18 and later */
};

/* False: @im has none, or one that makes no sense, or of a format that is not known. */
bool go_table_of(const struct image *im, struct go_table *ret);

/* What the runtime has to know of functions. */
enum go_flag {
	GO_TOP_FRAME = 1, /* nobody called it, or nobody that matters */
	GO_SP_WRITE =
		2,  /* it goes on on another stack, or moves rsp by what the table cannot say */
	GO_ASM = 4, /* written in assembly */
};

struct go_function {
	const char *name; /* "main.(*T).method"; "" where there is none */
	uint64_t start;
	uint64_t end;   /* behind its last instruction: what aligns the next one is no part of it */
	uint8_t flags;  /* enum go_flag; 0 where the table has none */
	uint32_t steps; /* where they are; 0: none, as of C code that Go's own linker put in */
};

/* Function @i, below n; they lie by rising address, none reaching into the next. False: there is
 * nothing in it.
 */
bool go_function_at(const struct go_table *t, uint32_t i, struct go_function *ret);

/*
 * Does the table say how far rsp has moved in function @i? Not of C code that Go's own linker put
 * in.
 */
bool go_has_steps(const struct go_table *t, uint32_t i);

/* Where function @i begins; of i = n: where the last one ends. */
uint64_t go_function_start(const struct go_table *t, uint32_t i);

/*
 * How far rsp is below what it was at the function's first instruction: in [start, end) by @delta
 * bytes. As many steps as the function has bytes, at most.
 */
struct go_steps {
	struct go_bytes left;
	uint64_t start;
	uint64_t end;
	uint64_t limit;
	int32_t delta;
};

struct go_steps go_steps_of(const struct go_table *t, const struct go_function *f);

/* The next one. False: no more, or it makes no sense. */
bool go_next_step(struct go_steps *s);
