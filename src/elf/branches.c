// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where may execution enter code? arch_each_jump() finds every jump and call with a displacement,
 * and also bytes that mean something else.
 *
 * A jump may be far from its target, because a function's cold part lies in another section. So
 * we read all code, once for all places. We look up a target in a filter of bits first, and among
 * the places only if the filter may have it.
 */
#include <stdlib.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "elf/internal.h"

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
static void note_entered(void *context, uint64_t from, uint64_t vaddr)
{
	struct search *s = context;

	if (!filter_may_have(&s->filter, vaddr))
		return;
	for (size_t i = find_first_place(s, vaddr); i < s->n && s->places[i].vaddr == vaddr; i++)
		if (from < s->places[i].entry || from >= vaddr)
			s->places[i].is_entered = true;
}

static int note_function(void *context, const struct image_symbol *symbol)
{
	note_entered(context, symbol->vaddr, symbol->vaddr);
	return 0;
}

static int compare_vaddrs(const void *a, const void *b)
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
	qsort(places, n, sizeof(*places), compare_vaddrs);
	filter_init(&s.filter, places, n);
	(void)image_each_function(im, note_function, &s);
	for (size_t i = 0; i < im->n_segments; i++) {
		const struct segment *segment = &im->segments[i];
		const struct arch_code code = { im->data + segment->offset, segment->file_bytes,
						segment->vaddr };

		if (segment->is_executable)
			arch_each_jump(&code, note_entered, &s);
	}
	free(s.filter.bits);
}
