/* unwind/program.h - what an entry of .eh_frame is made of. For unwind/ only. */
#pragma once

#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/cursor.h"

/* What is known at one place. */
struct cfi_state {
	struct cfi_value cfa;
	struct cfi_value bx, bp, sp;
	struct cfi_value pc;
	struct cfi_value other; /* of all registers that do not matter */
	int64_t cfa_offset;     /* the last one that was given */
};

/* What FDEs have in common. */
struct cfi_cie {
	uint64_t code_factor;
	int64_t data_factor;
	bool is_signal;
	bool is_cloned;
	struct cfi_state initial;
};

/* About code [@start, @end). */
struct cfi_fde {
	uint64_t start;
	uint64_t end;
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie; /* number of its CIE */
};

/* Run a CIE's program: what holds at the first instruction. False: it makes no sense. */
bool cfi_run_initial(struct cfi_cie *cie, const uint8_t *program, size_t size);

/*
 * Run an FDE's program up to address @end, which may lie before the FDE's own.
 * Rows have strictly rising addresses, from @fde's start on.
 */
int cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uint64_t end, cfi_visit *visit,
	    void *context);

/* By address, then .eh_frame's first, whose CIEs are read first. Fast if only few are out of order,
 * as linkers leave them. */
void cfi_sort(struct cfi_fde *fdes, size_t n);

/* What an expression says, if it is of a form that is known; else CFI_OTHER. */
struct cfi_value cfi_expression(const uint8_t *code, size_t size, bool is_address);

/* A section of stubs. Its program is empty if nothing is pushed in it. */
struct cfi_stubs {
	uint64_t start;
	uint64_t end;
	const uint8_t *program;
	uint32_t program_bytes;
};

#define CFI_MAX_STUBS 4

/* Returns how many sections there are. */
size_t cfi_find_stubs(const struct image *im, struct cfi_stubs ret[CFI_MAX_STUBS]);

/* The CIE of their programs. */
void cfi_stubs_cie(struct cfi_cie *ret);

/*
 * Where handlers of signals return to, if none of the entries @fdes, which are sorted, is about
 * it. False: there is no such place in the code that has no entries.
 */
bool cfi_find_signal_return(const struct image *im, const struct cfi_fde *fdes, size_t n,
			    struct cfi_stubs *ret);

/* Its CIE. */
void cfi_signal_cie(struct cfi_cie *ret);

#define CFI_MAX_ROOTS 3

/* Where a program or a thread begins, if no entry is about it. Returns how many places there are.
 */
size_t cfi_find_roots(struct image *im, const struct cfi_fde *fdes, size_t n,
		      struct cfi_stubs ret[CFI_MAX_ROOTS]);

/*
 * The code from the program's entry point on that surely belongs to it, and ends before @limit.
 * False: none does.
 */
bool cfi_find_entry(struct image *im, uint64_t limit, struct cfi_stubs *ret);

/* Their CIE. */
void cfi_roots_cie(struct cfi_cie *ret);

/*
 * Find the system call that makes the thread that begins at @root: in the code without entries from
 * @gap on, shortly before @root. False: it is not there.
 */
bool cfi_find_clone(const struct image *im, uint64_t gap, uint64_t root, struct cfi_stubs *ret);

/* Their CIE. */
void cfi_clones_cie(struct cfi_cie *ret);

/*
 * In the code [@start, @end), which has one row, find the part that the row is wrong for. False:
 * no such part is known.
 */
bool cfi_find_trace_exit(const struct image *im, uint64_t start, uint64_t end,
			 struct code_range *ret);

/*
 * The first function from @from on that the code [@start, @end) itself calls: at @end if there is
 * none.
 */
uint64_t cfi_find_called(const struct image *im, uint64_t start, uint64_t end, uint64_t from);
