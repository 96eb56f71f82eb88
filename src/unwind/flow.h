/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind/flow.h - where execution may go in code without entries, and with which frame it comes
 * there. For unwind/derive.c.
 *
 * Each place is a byte of that code. If the analysis came to an instruction there, the place has a
 * frame and an owner: the function that execution came from. Functions that share code are one
 * group. The analysis believes all of a group or nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "unwind/frame.h"
#include "unwind/instruction.h"

/* Code without entries: [@start, @end), whose first byte is place @first. */
struct flow_span {
	uint64_t start;
	uint64_t end;
	const uint8_t *code;
	size_t first;
};

enum flow_flag {
	FLOW_VISITED = 1, /* an instruction begins here */
	FLOW_INSIDE = 2,  /* or goes on */
	FLOW_ENTRY = 4,   /* a function begins here: a symbol or a call says so */
	FLOW_POINTED = 8, /* an instruction takes this address */
	FLOW_LIKELY = 16, /* or here, by less */
	FLOW_BEHIND = 32, /* execution does not come from the instruction before */
	FLOW_CALLED = 64, /* a call to elsewhere that may return or not ends before this */
	FLOW_DEAD = 128,  /* it does not */
};

struct flow_function {
	uint64_t start;
	uint32_t leader; /* number of its group's first function, or of one nearer to that */
	bool may_return; /* below: of the group, so the leader's hold */
	bool is_bad;     /* something contradicts that compilers made it */
	bool is_proven;  /* called, and returns with rsp, rbp, rbx as they were */
	bool is_open;    /* it has a jump to an unknown place */
	bool has_call;
	bool is_named; /* this function's own: by a symbol, or by a pointer to it */
};

/* From a function to another: a call, or a jump with a clean frame. */
struct flow_edge {
	uint32_t from;
	uint32_t to;
};

/* A call whose callee is not known to return yet. */
struct flow_wait {
	uint64_t vaddr; /* behind it */
	uint32_t callee;
	uint32_t owner;
	uint16_t frame;
};

struct flow_item {
	uint64_t vaddr;
	uint32_t owner;
	uint16_t frame;
};

/* Where a switch goes to. */
struct flow_table {
	uint64_t vaddr;
	uint64_t n;
	bool is_relative; /* 4 bytes each, to its beginning; else 8, an address */
};

/* Instructions in a row, for jumps through tables. */
#define FLOW_RECENT 16

struct flow {
	const struct image *im;
	struct flow_span *spans;
	size_t n_spans, spans_capacity;
	size_t n_places;
	uint16_t *frame_of; /* of places, numbers of frames */
	uint16_t *owner_of;
	uint8_t *flags;
	struct frame *frames;
	size_t n_frames, frames_capacity;
	struct u64_map numbers; /* of frames */
	uint64_t seed;
	struct flow_function *functions;
	size_t n_functions, functions_capacity;
	struct flow_item *items;
	size_t n_items, items_capacity;
	struct flow_wait *waits;
	size_t n_waits, waits_capacity;
	struct flow_edge *edges;
	size_t n_edges, edges_capacity;
	struct flow_table *tables; /* of jumps */
	size_t n_tables, tables_capacity;
	struct u64_map table_numbers; /* by the jump's address */
	uint64_t budget;              /* of instructions */
	bool is_weak;                 /* the followed code begins at a likely function */
	bool is_late;                 /* a place that was visited turned out to be an entry */
	bool is_over;                 /* a limit was exceeded: use nothing of it */
	struct instruction recent[FLOW_RECENT];
	size_t n_recent;
};

/* Spans are set, sorted. */
void flow_init(struct flow *f);
void flow_fini(struct flow *f);

/* Forget all but the entries. */
void flow_again(struct flow *f);

/* A function begins at @vaddr. */
void flow_add(struct flow *f, uint64_t vaddr, bool is_named, uint8_t flag);

/* Follow all added functions. Waiting calls keep waiting. */
void flow_follow(struct flow *f);

/* The same, and go on past calls whose callees may return. */
void flow_run(struct flow *f);

/* SIZE_MAX: in none of the spans. */
size_t flow_place(const struct flow *f, uint64_t vaddr);
const struct flow_span *flow_span_of(const struct flow *f, uint64_t vaddr);

/* The first that ends behind @vaddr; else the one behind the last. */
const struct flow_span *flow_next_span(const struct flow *f, uint64_t vaddr);

struct instruction flow_instruction(const struct flow_span *s, uint64_t vaddr);

/* The leader of function @number's group. */
struct flow_function *flow_group(struct flow *f, uint32_t number);

/*
 * Call @take for each place that the table of jump @i at @vaddr leads to. False: the table is
 * not known.
 */
typedef void flow_take(struct flow *f, uint64_t vaddr, void *context);
bool flow_table(struct flow *f, uint64_t vaddr, const struct instruction *jump, flow_take *take,
		void *context);
