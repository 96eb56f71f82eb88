/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind/private.h - what the parts of a table are made of. For unwind/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/gopclntab.h"
#include "elf/image.h"
#include "unwind/cfi.h"

/* --- entries, and roots.c --- */

/*
 * The entry of code [@start, @end). The program is empty if the CIE's state holds for all of it.
 * roots.c makes entries for code without one, such as sections of stubs, and cfi.c their CIEs.
 */
struct cfi_fde {
	uint64_t start;
	uint64_t end;
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie; /* the number of its CIE */
};

#define CFI_MAX_STUBS 6

/* Find the sections of stubs, _init and _fini. Returns their number. */
size_t cfi_find_stubs(const struct image *im, struct cfi_fde ret[CFI_MAX_STUBS]);

/*
 * Find the code where signal handlers return, in gaps between the sorted entries @fdes. False: it
 * is not there.
 */
bool cfi_find_signal_return(const struct image *im, const struct cfi_fde *fdes, size_t n,
			    struct cfi_fde *ret);

#define CFI_MAX_ROOTS 3

/* Find the first code of a program, a thread and a fiber, if no entry covers it. Returns the number
 * of places. */
size_t cfi_find_roots(struct image *im, const struct cfi_fde *fdes, size_t n,
		      struct cfi_fde ret[CFI_MAX_ROOTS]);

/*
 * Find the system call that makes the thread whose first code is at @root. It is shortly before
 * @root, in code without entries from @gap on. False: it is not there.
 */
bool cfi_find_clone(const struct image *im, uint64_t gap, uint64_t root, struct cfi_fde *ret);

/* End an entry of hand-written assembly where its row is wrong. The next entry begins at @next. */
void cfi_cut_trace_exit(const struct image *im, struct cfi_fde *fde, uint64_t next);

/* --- derive.c --- */

/*
 * Derive rows for code without entries, such as musl's C code, from its instructions. Compiled C
 * moves the stack pointer by constants and saves registers by pushes, so an analysis can follow
 * both.
 *
 * A row is right or absent. The analysis believes code that returns with the stack pointer, the
 * frame pointer and the third register as they were, and code that believed code calls. It also
 * believes a function with a symbol that ends in calls which do not return.
 */

struct derived;

/*
 * Analyse the code of .text that the sorted entries @fdes leave out. Borrows @im and @fdes.
 *
 * Returns NULL if there is no .text, if the entries leave out less than 4 KiB or more than 4 MiB of
 * it, or if a limit is exceeded. Also for programs with V8, whose builtins are no compiled C, and
 * if calls do not push the return address (ARCH_CALL_PUSHES), which flow.h expects.
 *
 * Go programs have a table @go, others NULL or one without functions. The analysis leaves out
 * functions with rows in that table. Of the rest 1 KiB is enough, because Go's linker drops entries
 * of C code.
 */
struct derived *derive(struct image *im, const struct go_table *go, const struct cfi_fde *fdes,
		       size_t n);
void derived_freep(struct derived **d);

/* The start of the first code that the entries leave out. */
uint64_t derived_first(const struct derived *d);

/*
 * Call @visit for the rows of [@from, @to), which lies between two entries. The first row is at
 * @from. Code without rows gets gaps.
 */
must_check int derived_rows_between(struct derived *d, uint64_t from, uint64_t to, cfi_visit *visit,
				    void *context);

/* --- go.c --- */

/*
 * Make rows of Go's own code, which .eh_frame does not cover. The table of Go's runtime gives them
 * (elf/gopclntab.h). The compiler's .debug_frame would be wrong for functions that switch stacks:
 * it describes them as if they did not.
 */
struct go_rows {
	const struct image *im;
	struct go_table table;
	uint32_t next;  /* all functions before this one end before the next call's rows */
	uint64_t given; /* up to here, earlier calls have visited all rows */
};

/* False: @im has no such table. */
bool go_rows_of(const struct image *im, struct go_rows *ret);

/*
 * Call @visit for the rows from @before->vaddr up to @to.
 *  - Functions of Go's table have the table's rows, or CFI_FRAMES if it cannot express their code.
 *    The last function's rows go up to its end, which may lie past @to.
 *  - Other code has row @before.
 * Calls must go on by ascending address. Rows ascend over all calls.
 */
must_check int go_rows_between(struct go_rows *r, const struct cfi_row *before, uint64_t to,
			       cfi_visit *visit, void *context);
