/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/derive.h - rows of code that no entry is about, from its instructions: what compilers
 * make of C moves rsp by constants and saves registers by pushes, so that both can be followed
 * (musl, whose C code has no entries, and what is linked to it).
 *
 * Rows are right or there are none: code is believed only if it returns as what was called does,
 * with rsp, rbp and rbx as they were, or is called by such code.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/program.h"

struct derived;

/*
 * NULL: what the sorted entries @fdes leave out is too little to matter, or more than 4 MiB, or not
 * what compilers of C make. @code is where the file's segments of code lie. @im and @fdes are
 * borrowed.
 */
struct derived *derive(struct image *im, const struct cfi_fde *fdes, size_t n,
		       const struct code_range *code, size_t n_code);
void derived_freep(struct derived **d);

/* Set n_functions, n_believed, and n_derived to how many rows were given. */
void derived_count(const struct derived *d, struct cfi_stats *ret);

/* Where the code that was left out begins. */
uint64_t derived_first(const struct derived *d);

/*
 * Call @visit for the rows of [@from, @to), which lies between two entries: the first one is at
 * @from. Of code without rows they are gaps.
 */
must_check int derived_rows_between(struct derived *d, uint64_t from, uint64_t to, cfi_visit *visit,
				    void *context);
