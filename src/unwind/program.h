/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind/program.h - the entries of .eh_frame and their programs. For unwind/ only. */
#pragma once

#include "elf/cursor.h"
#include "elf/image.h"
#include "unwind/cfi.h"

/* The state of a program: a row without its address. */
struct cfi_state {
	struct cfi_value cfa;
	struct cfi_value third, fp, sp;
	struct cfi_value pc;
	struct cfi_value other; /* for all registers that do not matter */
	int64_t cfa_offset;     /* the last offset that an operation gave */
};

/* The common part of FDEs. */
struct cfi_cie {
	uint64_t code_factor;
	int64_t data_factor;
	bool is_signal;
	bool is_cloned;
	struct cfi_state initial;
};

/* The entry of code [@start, @end). */
struct cfi_fde {
	uint64_t start;
	uint64_t end;
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie; /* the number of its CIE */
};

/* Run a CIE's program, and set the state at a function's first instruction. False: it makes no
 * sense. */
bool cfi_run_initial(struct cfi_cie *cie, const uint8_t *program, size_t size);

/*
 * Run an FDE's program up to address @end, which may lie before the FDE's own end, and visit its
 * rows. Their addresses ascend strictly, from @fde's start on. Returns 0 or the result of @visit.
 */
int cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uint64_t end, cfi_visit *visit,
	    void *context);

/* The value of an expression of a known form; else CFI_OTHER. @is_address: the value is memory at
 * the expression's result. */
struct cfi_value cfi_expression(const uint8_t *code, size_t size, bool is_address);

/*
 * Code that gets an entry of ours: [@start, @end), such as a section of stubs. The program is empty
 * if the CIE's state holds for all of it.
 */
struct cfi_stubs {
	uint64_t start;
	uint64_t end;
	const uint8_t *program;
	uint32_t program_bytes;
};

/* The CIE of such code. CFI_OWN_CLONE: behind the system call of clone(). */
enum cfi_own { CFI_OWN_STUBS, CFI_OWN_ROOT, CFI_OWN_CLONE, CFI_OWN_SIGNAL };
struct cfi_cie cfi_own_cie(enum cfi_own kind);

#define CFI_MAX_STUBS 6

/* Find the sections of stubs, _init and _fini. Returns their number. */
size_t cfi_find_stubs(const struct image *im, struct cfi_stubs ret[CFI_MAX_STUBS]);

/*
 * Find the code where signal handlers return, in gaps between the sorted entries @fdes. False: it
 * is not there.
 */
bool cfi_find_signal_return(const struct image *im, const struct cfi_fde *fdes, size_t n,
			    struct cfi_stubs *ret);

#define CFI_MAX_ROOTS 3

/* Find the first code of a program, a thread and a fiber, if no entry covers it. Returns the number
 * of places. */
size_t cfi_find_roots(struct image *im, const struct cfi_fde *fdes, size_t n,
		      struct cfi_stubs ret[CFI_MAX_ROOTS]);

/*
 * Find the code from the program's entry point on that certainly belongs to it, up to @limit at
 * most. False: none does.
 */
bool cfi_find_entry(struct image *im, uint64_t limit, struct cfi_stubs *ret);

/*
 * Find the system call that makes the thread whose first code is at @root. It is shortly before
 * @root, in code without entries from @gap on. False: it is not there.
 */
bool cfi_find_clone(const struct image *im, uint64_t gap, uint64_t root, struct cfi_stubs *ret);

/* Where does the row of code [@start, @end), which has one, begin to be wrong? @end: nowhere. */
uint64_t cfi_find_trace_exit(const struct image *im, uint64_t start, uint64_t end);
