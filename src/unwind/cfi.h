/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/cfi.h - read a file's call frame information (CFI) as rows.
 *
 * .eh_frame is a list of entries; .debug_frame has those that .eh_frame leaves out. An FDE covers
 * the code of a function. It is a program that changes a state as the address advances, and each
 * state is a row: how to find the caller's registers from there on. Four registers of x86-64 matter
 * here: rsp, rbp, rbx and the return address. The CFA is the value of rsp before the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct go_table;
struct image;

/* DWARF's numbers of registers. */
enum cfi_register {
	CFI_RBX = 3,
	CFI_RBP = 6,
	CFI_RSP = 7,
	CFI_N_REGISTERS = 16, /* general registers */
	CFI_RETURN_ADDRESS = 16,
};

/* How to find the caller's value of a register, or the CFA. */
enum cfi_how {
	CFI_SAME,      /* unchanged */
	CFI_UNDEFINED, /* lost; for the return address: there is no caller */
	CFI_IN,        /* @reg */
	CFI_AT_CFA,    /* *(CFA + @offset) */
	CFI_IS_CFA,    /* CFA + @offset */
	CFI_IS,        /* @reg + @offset */
	CFI_AT,        /* *(@reg + @offset) */
	CFI_AT_PLUS,   /* *(@reg + @offset) + @plus */
	CFI_PLT,       /* @reg + @offset + ((rip & 15) >= @plus ? 8 : 0): in a stub of a PLT */
	CFI_OTHER,     /* an expression of no known form */
};

struct cfi_value {
	uint8_t how; /* enum cfi_how */
	uint8_t reg;
	uint16_t pad;
	int32_t plus;
	int64_t offset;
};

enum cfi_row_kind {
	CFI_ROW,
	CFI_GAP,    /* no entry covers the code from here on */
	CFI_BAD,    /* an entry covers it, but makes no sense from here on */
	CFI_FRAMES, /* Go's own code: the only thing we know is that it has frame pointers */
};

struct cfi_row {
	uint64_t vaddr; /* the row holds from here to the next row */
	uint8_t kind;   /* enum cfi_row_kind; the members below are for CFI_ROW */
	bool is_signal; /* the frame where signal handlers return */
	bool is_cloned; /* the outermost frame if rax is 0: a child of clone() */
	uint8_t pad0;
	uint32_t pad1;
	struct cfi_value cfa;
	struct cfi_value bx, bp, sp;
	struct cfi_value pc; /* the return address */
};

struct cfi_stats {
	size_t n_entries;               /* FDEs that we used */
	size_t n_rows;                  /* their rows, without gaps */
	size_t n_bad;                   /* entries that we could not read */
	size_t n_outside;               /* entries that cover no code of the file */
	size_t n_overlap;               /* entries that reached into the next, and were cut there */
	size_t n_stubs;                 /* entries that we made for PLTs without any */
	size_t n_roots;                 /* likewise, for the first code of programs and threads */
	size_t n_derived;               /* rows of code without entries (unwind/derive.h) */
	size_t n_functions, n_believed; /* functions in that code, and those that have rows */
};

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
 *         -ENOEXEC  it is not for x86-64
 *         -E2BIG    it has more than four million functions
 */
must_check int cfi_each_row(struct image *im, const struct go_table *go, cfi_visit *visit,
			    void *context, struct cfi_stats *ret, struct error *e);
