/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/row.h - a row of call frame information: how to find the caller's registers. unwind/cfi.h
 * makes rows from a file, and the architecture turns each into a rule (arch/arch.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"

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
	CFI_PLT,       /* @reg + @offset + ((pc & 15) >= @plus ? 8 : 0): in a stub of a PLT */
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
	bool is_cloned; /* the outermost frame if the result is 0: a child of clone() */
	uint8_t pad0;
	uint32_t pad1;
	struct cfi_value cfa;
	struct cfi_value third, fp, sp;
	struct cfi_value pc; /* the return address */
};
