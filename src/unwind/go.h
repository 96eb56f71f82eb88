/*
 * unwind/go.h - rows of Go's own code, of which .eh_frame says nothing: by the table that Go's
 * runtime walks stacks by (elf/gopclntab.h). What .debug_frame says of that code is no better: it
 * has functions that go on on another stack as if they did not.
 */
#pragma once

#include "elf/gopclntab.h"
#include "unwind/cfi.h"

struct go_rows {
	const struct image *im;
	struct go_table table;
	uint32_t next;  /* the first function that may not lie before what is asked for */
	uint64_t given; /* up to here all rows were given */
};

/* False: @im has no such table. */
bool go_rows_of(const struct image *im, struct go_rows *ret);

/*
 * Call @visit for the rows from @before on, up to @to: where Go's table says nothing, that is
 * @before. Rows of Go's own code that the table cannot say are CFI_FRAMES. Where it says something
 * of a function that begins before @to, rows are given up to its end. Each call is about what lies
 * behind the last one's; rows rise over all calls.
 */
must_check int go_rows_between(struct go_rows *r, const struct cfi_row *before, uint64_t to,
			       cfi_visit *visit, void *context);
