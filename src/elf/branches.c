// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where may execution enter code? Only a decoder knows where instructions begin. So this looks for
 * jumps and calls with a displacement at every byte:
 *
 *	70-7f d8, e0-e3 d8, eb d8            jcc, loop and jrcxz, jmp
 *	e8 d32, e9 d32, 0f 80-8f d32         call, jmp, jcc
 *	c7 f8 d32                            xbegin, to its abort handler
 *
 * A displacement counts from the end of its instruction. This finds every such instruction, and
 * also bytes that mean something else. Of the 256 bytes around a place, random ones look like a
 * short jump to it in one case of twelve. Two kinds of such bytes are frequent, so we leave them
 * out. In
 *
 *	c5 f8 77  c3                         vzeroupper; ret
 *
 * 77 is a jump only after clc (f8), where "above" means no more than "not equal". Many functions
 * with vectors end in this. And in
 *
 *	62 e1 7d 28 e7 07    vmovntdq %ymm16,(%rdi)
 *
 * the second byte would be loope. Functions of string.h have many of these, and compilers make no
 * loop and no jrcxz (e0-e3).
 *
 * A jump may be far from its target, because a function's cold part lies in another section. So
 * we read all code, once for all places. We look up a target in a filter of bits first, and among
 * the places only if the filter may have it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "elf/internal.h"
#include "elf/vector.h"

enum lead { LEAD_NONE, LEAD_SHORT, LEAD_NEAR, LEAD_TWO_BYTES, LEAD_XBEGIN };

static const uint8_t leads[256] = {
	[0x0f] = LEAD_TWO_BYTES,      [0x70 ... 0x7f] = LEAD_SHORT, [0xc7] = LEAD_XBEGIN,
	[0xe0 ... 0xe3] = LEAD_SHORT, [0xe8 ... 0xe9] = LEAD_NEAR,  [0xeb] = LEAD_SHORT,
};

/* One bit for each value of the lowest bits of an address: @mask + 1 bits. */
struct filter {
	uint64_t *bits;
	uint64_t mask;
};

struct search {
	struct code_place *places;
	size_t n;
	struct filter filter;
};

#define LEAST_BITS 65536 /* 8 KiB stay in the nearest cache */

static void filter_init(struct filter *f, const struct code_place *places, size_t n)
{
	uint64_t n_bits = LEAST_BITS;

	while (n_bits / 16 < n)
		n_bits *= 2;
	f->mask = n_bits - 1;
	f->bits = xcalloc(n_bits / 64, sizeof(*f->bits));
	for (size_t i = 0; i < n; i++) {
		uint64_t bit = places[i].vaddr & f->mask;

		f->bits[bit / 64] |= 1ULL << (bit % 64);
	}
}

static inline bool filter_may_have(const struct filter *f, uint64_t vaddr)
{
	uint64_t bit = vaddr & f->mask;

	return f->bits[bit / 64] >> (bit % 64) & 1;
}

static size_t find_first_place(const struct search *s, uint64_t vaddr)
{
	size_t low = 0;
	size_t high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->places[middle].vaddr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Note a jump from @from to @vaddr. It does not count if it is between the place and its entry. */
static void note_entered(struct search *s, uint64_t from, uint64_t vaddr)
{
	if (!filter_may_have(&s->filter, vaddr))
		return;
	for (size_t i = find_first_place(s, vaddr); i < s->n && s->places[i].vaddr == vaddr; i++)
		if (from < s->places[i].entry || from >= vaddr)
			s->places[i].is_entered = true;
}

/* The size of the displacement if a jump or call begins here, else 0. *@ret_opcode: its offset. */
static inline size_t displacement_bytes(const uint8_t *code, size_t n, size_t *ret_opcode)
{
	*ret_opcode = 1;
	switch ((enum lead)leads[code[0]]) {
	case LEAD_SHORT:
		return n > 1 ? 1 : 0;
	case LEAD_NEAR:
		return n > 4 ? 4 : 0;
	case LEAD_TWO_BYTES:
		*ret_opcode = 2;
		return n > 5 && (code[1] & 0xf0) == 0x80 ? 4 : 0;
	case LEAD_XBEGIN:
		*ret_opcode = 2;
		return n > 5 && code[1] == 0xf8 ? 4 : 0;
	default:
		return 0;
	}
}

static inline bool is_vzeroupper(const uint8_t *code, size_t at)
{
	return code[at] == 0x77 && at >= 2 && code[at - 1] == 0xf8 && code[at - 2] == 0xc5;
}

/* Is this one of e0-e3, as second byte of an instruction with a VEX or EVEX prefix? */
static inline bool is_in_vector_prefix(const uint8_t *code, size_t at, size_t n)
{
	if ((code[at] & 0xfc) != 0xe0 || at < 1 || (code[at - 1] != 0x62 && code[at - 1] != 0xc4))
		return false;
	return vector_length(code + at - 1, n - (at - 1)) > 0;
}

static void scan_branches(struct search *s, const uint8_t *code, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++) {
		size_t opcode;
		size_t size;
		int64_t displacement;

		if (leads[code[i]] == LEAD_NONE || is_vzeroupper(code, i) ||
		    is_in_vector_prefix(code, i, n))
			continue;
		size = displacement_bytes(code + i, n - i, &opcode);
		if (!size)
			continue;
		if (size == 1) {
			displacement = (code[i + opcode] ^ 0x80) - 0x80; /* sign-extended */
		} else {
			int32_t near;

			memcpy(&near, code + i + opcode, sizeof(near));
			displacement = near;
		}
		note_entered(s, vaddr + i, vaddr + i + opcode + size + (uint64_t)displacement);
	}
}

static int note_function(void *context, const struct image_symbol *symbol)
{
	note_entered(context, symbol->vaddr, symbol->vaddr);
	return 0;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct code_place *x = a;
	const struct code_place *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

void image_find_entered(struct image *im, struct code_place *places, size_t n)
{
	struct search s = { .places = places, .n = n };

	if (!n)
		return;
	qsort(places, n, sizeof(*places), by_vaddr);
	filter_init(&s.filter, places, n);
	(void)image_each_function(im, note_function, &s);
	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *segment = &im->segments[i];

		if (segment->is_executable)
			scan_branches(&s, im->data + segment->offset, segment->file_bytes,
				      segment->vaddr);
	}
	free(s.filter.bits);
}
