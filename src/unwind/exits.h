/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/exits.h - where does a function return? At its return instructions, and where it jumps to
 * another function, which then returns in its place (a tail call). There the frame is as at the
 * function's entry: the return address is on top of the stack.
 *
 * All exits are found, or none. They are instructions that execution comes to, so a probe there
 * never overwrites data. A part of a function that lies elsewhere ("f.cold") belongs to it. If an
 * exception or longjmp() leaves the function, no exit is passed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_range;
struct go_table;
struct image;

/* --- jumps into the middle of functions --- */

/*
 * Which code jumps into the middle of a function? Its own cold part does. So does assembly that
 * shares code. In glibc:
 *
 *	mempcpy:  result = to + n;  goto inner
 *	memmove:  result = to;  inner: ...
 *
 * Then an exit of memmove is one of mempcpy, too. And a loop may begin behind the first
 * instructions, which match/user.c skips.
 */

/* A jump or a call, which execution need not come to. */
struct middle {
	uint64_t to, from; /* addresses as linked; @from is the instruction's */
};

/* A zeroed one is empty. */
struct middles {
	struct middle *jumps; /* by rising @to */
	size_t n, capacity;
};

/* The end of the function that begins at @vaddr, by symbols or .eh_frame. 0: it is not known. */
uint64_t function_end_of(struct image *im, uint64_t vaddr);

/*
 * Find the jumps with a displacement that lead into the @n @functions, behind their beginnings,
 * from outside of each function. Reads all code once. Code that neither a symbol nor .eh_frame
 * covers is left out: nobody knows where its instructions begin. Sorts @functions, and moves the
 * ends of those that lie in others.
 *
 * @is_cautious: jumps backwards from the function's own code are found, too. And bytes that only
 * look like a jump count, so none is missed.
 */
void middles_find(struct image *im, struct code_range *functions, size_t n, bool is_cautious,
		  struct middles *ret);
void middles_fini(struct middles *m);

/* The number of the first jump to @vaddr or behind it; @m->n: there is none. */
size_t middles_from(const struct middles *m, uint64_t vaddr);

/* --- exits --- */

/* A zeroed one is empty. */
struct exits {
	struct function_exit {
		uint64_t vaddr; /* as linked */
		bool is_jump;   /* to another function */
	} * places;             /* ascending */
	size_t n, capacity;
	const char *doubt; /* static text: why not all exits are known; NULL: they are */
	uint64_t doubt_at; /* an instruction's address */
};

/*
 * Find the exits of the function at @vaddr. @go: the table of a Go program; else NULL or without
 * functions. @middles: jumps into the middle of at least this function; it may be empty. @ret is
 * the caller's, to end with exits_fini().
 *
 * There are none, and a doubt, if
 *  - the function's end is not known;
 *  - it has an instruction or a frame that no compiler makes;
 *  - it may jump to an unknown place, which may lie in it or not;
 *  - it jumps to another function or not, by a condition: a probe there would count both;
 *  - code of another function jumps into it;
 *  - calls do not push the return address (ARCH_CALL_PUSHES).
 */
void exits_find(struct image *im, const struct go_table *go, const struct middles *middles,
		uint64_t vaddr, struct exits *ret);
void exits_fini(struct exits *exits);
