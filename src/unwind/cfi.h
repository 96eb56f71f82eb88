/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/cfi.h - read a file's call frame information (CFI) as rows.
 *
 * .eh_frame is a list of entries; .debug_frame has those that .eh_frame leaves out. An FDE covers
 * the code of a function. It is a program that changes a state as the address advances, and each
 * state is a row: how to find the caller's registers from there on. Four registers matter here:
 * the stack pointer, the frame pointer, the architecture's third, and the return address. The CFA
 * is the value of the stack pointer before the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/error.h"

struct go_table;
struct image;

/* A non-zero result ends the reading, which returns it. */
typedef int cfi_visit(void *context, const struct cfi_row *row);

/*
 * Call @visit for each row, by strictly ascending vaddr. The last one is a gap. If entries overlap,
 * the one that begins later holds from there on. Of entries with equal start, the file's first one
 * holds. Time and memory are in proportion to the section's size, even for hostile files.
 *
 * @go is the table of a Go program, else NULL or without functions. Code that it covers gets no
 * derived rows.
 *
 * Errors: -ENOENT   the file has no CFI, and we found no rows otherwise
 *         -ENOEXEC  it is not for this machine's 64-bit code
 *         -E2BIG    it has more than four million functions
 */
must_check int cfi_each_row(struct image *im, const struct go_table *go, cfi_visit *visit,
			    void *context, struct error *e);
