/*
 * unwind/go.h - rows of Go's own code, of which .eh_frame says nothing: by the table that Go's
 * runtime walks stacks by (elf/gopclntab.h).
 */
#pragma once

#include "elf/gopclntab.h"
#include "unwind/cfi.h"

struct go_rows {
	const struct image *im;
	struct go_table table;
	uint32_t next; /* the first function that may not lie before what is asked for */
};

/* False: @im has no such table. */
bool go_rows_of(const struct image *im, struct go_rows *ret);

/*
 * Call @visit for the rows of [@from, @to), the first of which begins at @from. Where nothing is
 * known, or not what would help, that is a gap. Each call is about what lies behind the last one's.
 */
must_check int go_rows_between(struct go_rows *r, uint64_t from, uint64_t to, cfi_visit *visit,
			       void *context);
