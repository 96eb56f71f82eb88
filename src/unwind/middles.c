// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * arch_each_jump() tries every byte of the code, so it also finds bytes within other instructions.
 * Of those that lead into a wanted function, few are left. Unless the caller is cautious, these
 * count if an instruction begins there: the function around them is decoded from its beginning.
 */
#include "unwind/middles.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/frames.h"
#include "elf/image.h"

#define MAX_RANGES 8
#define CHUNK_BYTES ((size_t)1 << 20)
#define MAX_JUMP_BYTES 8 /* of an instruction with a displacement, prefixes left out */

/* Decoding takes some 50 ns a byte, and files may be made to hold us up. */
#define MAX_DECODED_BYTES ((uint64_t)64 << 20)

struct search {
	struct image *im;
	const struct code_range *functions; /* ascending, by both ends */
	size_t n;
	bool is_cautious;
	uint64_t n_decoded;
	struct middles *ret;
};

uint64_t function_end_of(struct image *im, uint64_t vaddr)
{
	struct image_symbol symbol;
	struct image_frame frame;

	if (image_function_at(im, vaddr, &symbol) && symbol.vaddr == vaddr && symbol.size)
		return vaddr + symbol.size;
	return image_frame_at(im, vaddr, &frame) && frame.start == vaddr ? frame.end : 0;
}

/* The wanted function whose middle is at @vaddr. NULL: there is none. */
static const struct code_range *find_function_around(const struct search *s, uint64_t vaddr)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->functions[middle].start < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && vaddr < s->functions[low - 1].end ? &s->functions[low - 1] : NULL;
}

/* The first address of the code that @vaddr lies in. 0: neither symbol nor .eh_frame covers it. */
static uint64_t find_decodable_start(struct image *im, uint64_t vaddr)
{
	struct image_symbol symbol;
	struct image_frame frame;

	if (image_frame_at(im, vaddr, &frame))
		return frame.start;
	return image_function_at(im, vaddr, &symbol) ? symbol.vaddr : 0;
}

static bool is_jump_to(const struct instruction *i, uint64_t to)
{
	switch (i->kind) {
	case INSTRUCTION_CALL:
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
	case INSTRUCTION_BRANCH_UNEQUAL:
		return i->target == to;
	default:
		return false;
	}
}

/* Does an instruction begin at @from that may lead to @to? Where we cannot tell: yes. */
static bool leads_to(struct search *s, uint64_t from, uint64_t to)
{
	uint64_t at = find_decodable_start(s->im, from);
	uint8_t code[ARCH_INSTRUCTION_BYTES];

	if (!at)
		return false;
	if (from - at > MAX_DECODED_BYTES - s->n_decoded)
		return true;
	s->n_decoded += from - at;
	for (;;) {
		const size_t n = image_code_at(s->im, at, code, sizeof(code));
		const struct instruction i = instruction_at(code, n, at);
		const uint64_t length = i.length ? i.length : 1;

		if (from < at + length) /* a prefix may come first */
			return is_jump_to(&i, to);
		at += length;
	}
}

static void note_jump(void *context, uint64_t from, uint64_t to)
{
	struct search *s = context;
	const struct code_range *function = find_function_around(s, to);
	const struct middle jump = { to, from };

	if (!function ||
	    (from >= function->start && from < (s->is_cautious ? to : function->end)) ||
	    (!s->is_cautious && !leads_to(s, from, to)))
		return;
	array_push(s->ret->jumps, s->ret->n, s->ret->capacity, jump);
}

static void search_range(struct search *s, const struct code_range *range)
{
	cleanup_free uint8_t *bytes = xmalloc(CHUNK_BYTES);
	struct arch_code code = { .data = bytes, .size = CHUNK_BYTES };

	for (uint64_t at = range->start; at < range->end && code.size == CHUNK_BYTES;
	     at += CHUNK_BYTES - MAX_JUMP_BYTES) {
		code.vaddr = at;
		code.size = image_code_at(s->im, at, bytes, CHUNK_BYTES);
		arch_each_jump(&code, note_jump, s);
	}
}

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int compare_middles(const void *a, const void *b)
{
	const struct middle *x = a, *y = b;

	return (x->to > y->to) - (x->to < y->to);
}

void middles_find(struct image *im, struct code_range *functions, size_t n, bool is_cautious,
		  struct middles *ret)
{
	struct code_range ranges[MAX_RANGES];
	struct search s = {
		.im = im, .functions = functions, .n = n, .is_cautious = is_cautious, .ret = ret
	};
	size_t n_ranges;

	*ret = (struct middles){};
	if (!n)
		return;
	qsort(functions, n, sizeof(*functions), compare_ranges);
	for (size_t i = 1; i < n; i++)
		if (functions[i].end < functions[i - 1].end)
			functions[i].end = functions[i - 1].end;
	n_ranges = image_code_ranges(im, ranges, MAX_RANGES);
	for (size_t i = 0; i < n_ranges; i++)
		search_range(&s, &ranges[i]);
	if (ret->n)
		qsort(ret->jumps, ret->n, sizeof(*ret->jumps), compare_middles);
}

void middles_fini(struct middles *m)
{
	free(m->jumps);
	*m = (struct middles){};
}

size_t middles_from(const struct middles *m, uint64_t vaddr)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m->jumps[middle].to < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
