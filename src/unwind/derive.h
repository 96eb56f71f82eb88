/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/derive.h - rows of code without entries, from its instructions. Compiled C moves rsp by
 * constants and saves registers by pushes, so an analysis can follow both. musl's C code has no
 * entries.
 *
 * A row is right or absent. The analysis believes code that returns with rsp, rbp and rbx as they
 * were, and code that believed code calls. It also believes a function with a symbol that ends in
 * calls which do not return.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/program.h"

struct derived;
struct go_table;

/*
 * NULL: the sorted entries @fdes leave out less than 4 KiB or more than 4 MiB, or the code is not
 * compiled C (V8's builtins). @code has the file's segments of code. Borrows @im and @fdes.
 *
 * @go: the table of a Go program; NULL, or no functions: it is none. What the table has rows of is
 * left alone. Of the rest 1 KiB is enough: C code that Go's linker put in has no entries.
 */
struct derived *derive(struct image *im, const struct go_table *go, const struct cfi_fde *fdes,
		       size_t n, const struct code_range *code, size_t n_code);
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
