/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/derive.h - derive rows for code without entries, such as musl's C code, from its
 * instructions. Compiled C moves the stack pointer by constants and saves registers by pushes, so
 * an analysis can follow both.
 *
 * A row is right or absent. The analysis believes code that returns with the stack pointer, the
 * frame pointer and the third register as they were, and code that believed code calls. It also
 * believes a function with a symbol that ends in calls which do not return.
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
 * Analyse the code of .text that the sorted entries @fdes leave out. Borrows @im and @fdes. @code
 * has the file's segments of code.
 *
 * Returns NULL if there is no .text, if the entries leave out less than 4 KiB or more than 4 MiB of
 * it, or if a limit is exceeded. Also for programs with V8, whose builtins are no compiled C, and
 * if calls do not push the return address (ARCH_CALL_PUSHES), which unwind/frame.h expects.
 *
 * Go programs have a table @go, others NULL or one without functions. The analysis leaves out
 * functions with rows in that table. Of the rest 1 KiB is enough, because Go's linker drops entries
 * of C code.
 */
struct derived *derive(struct image *im, const struct go_table *go, const struct cfi_fde *fdes,
		       size_t n, const struct code_range *code, size_t n_code);
void derived_freep(struct derived **d);

/* The start of the first code that the entries leave out. */
uint64_t derived_first(const struct derived *d);

/*
 * Call @visit for the rows of [@from, @to), which lies between two entries. The first row is at
 * @from. Code without rows gets gaps.
 */
must_check int derived_rows_between(struct derived *d, uint64_t from, uint64_t to, cfi_visit *visit,
				    void *context);
