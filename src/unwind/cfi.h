/*
 * unwind/cfi.h - what a file says of how to find the caller, place by place.
 *
 * .eh_frame, and .debug_frame for what that leaves out, are lists of entries. An FDE is about
 * the code of a function; it is a program that changes a state as the address advances, and
 * each state is a row. Of x86-64's registers four matter here: rsp, rbp, rbx and the return
 * address; and the CFA, which is what rsp was before the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct go_table;
struct image;

/* Numbers of registers in DWARF. */
enum cfi_register {
	CFI_RBX = 3,
	CFI_RBP = 6,
	CFI_RSP = 7,
	CFI_N_REGISTERS = 16, /* those that a value can be in */
	CFI_RETURN_ADDRESS = 16,
};

enum cfi_how {
	CFI_SAME,      /* as it is */
	CFI_UNDEFINED, /* cannot be had; of the return address: nobody called */
	CFI_IN,        /* the caller's is in register @reg */
	CFI_AT_CFA,    /* saved at CFA + @offset */
	CFI_IS_CFA,    /* CFA + @offset is the value */
	CFI_IS,        /* @reg + @offset is */
	CFI_AT,        /* saved at @reg + @offset */
	CFI_AT_PLUS,   /* what is there, + @plus */
	CFI_PLT,       /* @reg + @offset + 8 if (rip & 15) >= @plus: in a stub of a PLT */
	CFI_OTHER,     /* an expression that is none of these */
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
	CFI_GAP,    /* nothing is known from here on */
	CFI_BAD,    /* there is an entry, and it makes no sense from here on */
	CFI_FRAMES, /* the code has frame pointers: Go's own, which says no more of it */
};

struct cfi_row {
	uint64_t vaddr; /* holds up to the next row's */
	uint8_t kind;   /* enum cfi_row_kind; what is below matters for CFI_ROW */
	bool is_signal; /* the frame of a signal's handler's return */
	bool is_cloned; /* nobody called if rax is 0: a child that clone() has made */
	uint8_t pad0;
	uint32_t pad1;
	struct cfi_value cfa;
	struct cfi_value bx, bp, sp;
	struct cfi_value pc; /* the return address */
};

struct cfi_stats {
	size_t n_entries; /* FDEs that were used */
	size_t n_rows;    /* states of theirs; gaps are not counted */
	size_t n_bad;     /* entries that could not be read */
	size_t n_outside; /* entries not about the file's code, or about none */
	size_t n_overlap; /* entries that reach into the next, and were cut there */
	size_t n_stubs;   /* entries made for PLTs that had none */
	size_t n_roots;   /* and where programs and threads begin, of which none was */
	size_t n_derived; /* rows of code without entries (unwind/derive.h) */
	size_t n_functions, n_believed; /* functions of that; those that there are rows of */
};

/* A non-zero result ends the reading and is returned. */
typedef int cfi_visit(void *context, const struct cfi_row *row);

/*
 * Call @visit for each row, by strictly rising vaddr; the last one is a gap. Where entries overlap,
 * the one that begins later holds from there on; of several that begin at one place, the first in
 * the file. Time and memory are in proportion to the section's size, whatever it holds. @go is the
 * file's table if it is a Go program (no functions, or NULL: it is none): rows are only derived for
 * code that this table says nothing of.
 *
 * Errors: -ENOENT   the file has none, and nothing of it is known otherwise
 *         -ENOEXEC  it is not for x86-64
 *         -E2BIG    it is about more than four million functions
 */
must_check int cfi_each_row(struct image *im, const struct go_table *go, cfi_visit *visit,
			    void *context, struct cfi_stats *ret, struct error *e);
