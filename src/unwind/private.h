/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind/private.h - what the parts of a table are made of. For unwind/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "elf/image.h"
#include "unwind/table.h"

/* --- entries --- */

/*
 * The entry of code [@start, @end). The program is empty if the CIE's state holds for all of it.
 * cfi.c makes entries for code without one, too, such as sections of stubs.
 */
struct cfi_fde {
	uint64_t start;
	uint64_t end;
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie; /* the number of its CIE */
};

#define CFI_MAX_STUBS 6

/* Find the sections of stubs, _init and _fini. Returns their number. */
size_t cfi_find_stubs(const struct image *im, struct cfi_fde ret[CFI_MAX_STUBS]);

/* --- flow.c: code without entries --- */

/*
 * Derive rows for code without entries, such as musl's C code, from its instructions. Compiled C
 * moves the stack pointer by constants and saves registers by pushes, so an analysis can follow
 * both.
 *
 * A row is right or absent. The analysis believes code that returns with the stack pointer, the
 * frame pointer and the third register as they were, and code that believed code calls. It also
 * believes a function with a symbol that ends in calls which do not return.
 */

struct flow;
struct go_table;

/*
 * Analyse the code of .text that the sorted entries @fdes leave out. @ret is the caller's, to end
 * with flow_fini(), and borrows the code from @im.
 *
 * It is empty if there is no .text, if the entries leave out less than 4 KiB or more than 4 MiB of
 * it, or if a limit is exceeded. Also for programs with V8, whose builtins are no compiled C, and
 * if calls do not push the return address (ARCH_CALL_PUSHES), which flow.c expects.
 *
 * Go programs have a table @go, others NULL or one without functions. The analysis leaves out
 * functions with rows in that table. Of the rest 1 KiB is enough, because Go's linker drops entries
 * of C code.
 */
void derive(struct image *im, const struct go_table *go, const struct cfi_fde *fdes, size_t n,
	    struct flow *ret);

/*
 * Call @visit for the rows of [@from, @to), which lies between two entries. The first row is at
 * @from. Code without rows gets gaps.
 */
must_check int derived_rows_between(struct flow *f, uint64_t from, uint64_t to, cfi_visit *visit,
				    void *context);

/*
 * Follow execution through code without entries, and track the frame at each instruction. For
 * rows, and for exits.c.
 *
 * A place is a byte of that code. If the analysis came to an instruction there, the place has a
 * frame and an owner: the function that execution came from. Functions that share code are one
 * group. The analysis believes all of a group or nothing.
 */

/*
 * The frame before an instruction, as far as we know it, and the change that the instruction makes.
 * Pure: reads no code. For architectures whose calls push the return address, so that it is at CFA
 * - 8 (ARCH_CALL_PUSHES).
 */

enum frame_holds {
	FRAME_CALLERS, /* the register is as the caller left it */
	FRAME_POINTER, /* it is CFA - fp_depth */
	FRAME_OTHER,
};

#define FRAME_NOT_KNOWN (-1)
#define FRAME_ENTRY_DEPTH 8 /* at a function's first instruction */

/* Depths are distances below the CFA, in bytes. */
struct frame {
	int32_t depth;       /* of the stack pointer; or FRAME_NOT_KNOWN */
	int32_t fp_depth;    /* of the frame pointer, if the register is FRAME_POINTER; else 0 */
	int32_t fp_saved;    /* of the caller's frame pointer, saved; 0: it is not */
	int32_t third_saved; /* likewise, for the third register */
	int32_t end_depth;   /* of @end_reg */
	uint8_t fp, third;   /* enum frame_holds */
	uint8_t end_reg;     /* the end of a loop that probes the stack, or REGISTER_NONE */
};

/* Code without entries: [@start, @end), whose first byte is place @first. */
struct flow_span {
	uint64_t start;
	uint64_t end;
	const uint8_t *code;
	size_t first;
};

enum flow_flag {
	FLOW_VISITED = 1, /* an instruction begins here */
	FLOW_INSIDE = 2,  /* an instruction goes on here */
	FLOW_ENTRY = 4,   /* a function begins here, by a symbol or a call */
	FLOW_POINTED = 8, /* an instruction takes this address: likely a function's */
};

struct flow_function {
	uint64_t start;
	uint32_t leader; /* number of the group's first function, or of one nearer to that */
	/* These are of the group: use the leader's. */
	bool may_return;
	bool is_bad;    /* something contradicts that a compiler made it */
	bool is_proven; /* it is called, and returns with the registers as they were */
	bool is_open;   /* it has a jump to an unknown place, such as a case of a switch */
	bool has_call;
	bool is_named; /* this function has a symbol or a pointer to it; later, any of the group */
};

/* From a function to another: a call, or a jump with a clean frame. */
struct flow_edge {
	uint32_t from;
	uint32_t to;
};

/* A place from where to follow execution, as code of function @owner. */
struct flow_item {
	uint64_t vaddr; /* 0: a jump to @callee waits */
	uint32_t owner;
	uint32_t callee; /* of one that waits, until this may return */
	struct frame frame;
};

/* A zeroed one is empty. */
struct flow {
	/* Of rows: the image, and its sorted entries. */
	struct image *im;
	const struct cfi_fde *fdes;
	size_t n_fdes;
	struct flow_span *spans;
	size_t n_spans, spans_capacity;
	size_t n_places;
	uint32_t *frame_of; /* for each visited place, the number of its frame */
	uint16_t *owner_of; /* for each place, the number of a function */
	uint8_t *flags;     /* for each place, enum flow_flag */
	struct frame *frames;
	size_t n_frames, frames_capacity;
	struct flow_function *functions;
	size_t n_functions, functions_capacity;
	struct flow_item *items;
	size_t n_items, items_capacity;
	struct flow_item *waits; /* behind calls, and jumps to functions */
	size_t n_waits, waits_capacity;
	struct flow_edge *edges;
	size_t n_edges, edges_capacity;
	uint64_t budget; /* instructions that we may still follow */
	bool is_weak;    /* we now follow functions at FLOW_POINTED */
	bool is_late;    /* a visited place turned out to be an entry */
	bool is_over;    /* a limit is exceeded: do not use the results */
};

/* Begin an analysis. The caller has set the spans, by ascending address. */
void flow_init(struct flow *f);
void flow_fini(struct flow *f);

/* Add a function that begins at @vaddr. @flag is FLOW_ENTRY or FLOW_POINTED. */
void flow_add(struct flow *f, uint64_t vaddr, bool is_named, uint8_t flag);

/* Have flow_run() follow execution from @vaddr, too, with @frame, as code of function @owner. */
void flow_enter(struct flow *f, uint64_t vaddr, uint32_t owner, const struct frame *frame);

/* Follow all added functions. Goes on past calls of these whose callees may return. */
void flow_run(struct flow *f);

/* The place of @vaddr, or its span. SIZE_MAX, or NULL: it is in no span. */
size_t flow_place(const struct flow *f, uint64_t vaddr);
const struct flow_span *flow_span_of(const struct flow *f, uint64_t vaddr);

struct instruction flow_instruction(const struct flow_span *s, uint64_t vaddr);

/* The leader of function @number's group, which has the group's members. */
struct flow_function *flow_group(struct flow *f, uint32_t number);

/* Where does a jump through a pointer lead, as far as its instructions tell? */
enum pointer_jump {
	POINTER_LEAVES, /* to another function */
	POINTER_STAYS,  /* to a case of a switch, or a label, of the same function */
	POINTER_UNSURE,
};

/* The answer for @jump at @vaddr, whose way to there @f has followed. */
enum pointer_jump pointer_jump_of(const struct flow *f, uint64_t vaddr,
				  const struct instruction *jump);
