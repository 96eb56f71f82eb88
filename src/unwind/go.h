/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/go.h - make rows of Go's own code, which .eh_frame does not cover. The table of Go's
 * runtime gives them (elf/gopclntab.h). The compiler's .debug_frame would be wrong for functions
 * that switch stacks: it describes them as if they did not.
 */
#pragma once

#include "elf/gopclntab.h"
#include "unwind/cfi.h"

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
