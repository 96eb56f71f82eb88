// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stubs of procedure linkage tables have no symbols. Each jumps through a slot, and the
 * relocation of that slot names the function.
 *
 * In a static program, relocations of IFUNCs have no symbol, either. They have the address of the
 * resolver, which has a symbol.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/symbols.h"

#define STUB_STEP 8 /* stubs begin at multiples of this */

struct stub {
	uint64_t vaddr;
	uint64_t slot;
	uint64_t resolver; /* if there is no @name */
	const char *name;  /* with its version; lent by the image. NULL: none */
	uint8_t size;
};

/* All stubs of an image, by ascending address. */
struct plt {
	struct stub *stubs;
	size_t n;
};

/* A relocation of any of the four forms. */
struct relocation {
	uint64_t slot;
	uint64_t addend;
	uint32_t symbol;
	uint32_t type;
};

struct slots {
	struct slot {
		uint64_t vaddr;
		uint64_t resolver;
		const char *name;
	} * list;
	size_t n, capacity;
	size_t left; /* bytes that we may read: sections may overlap, and exceed the file together
		      */
	size_t name_bytes; /* bytes of names read so far */
};

static bool is_plt_section(const struct section *s)
{
	return s->flags & SHF_EXECINSTR && strncmp(s->name, ".plt", 4) == 0 &&
	       (s->name[4] == '\0' || s->name[4] == '.');
}

/* There are four forms: for each class of files, with and without explicit addends. */
static size_t relocation_bytes(const struct image *im, uint32_t type)
{
	if (im->is_64_bit)
		return type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	return type == SHT_RELA ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel);
}

static struct relocation read_relocation(const struct image *im, const uint8_t *at, size_t bytes)
{
	Elf64_Rela wide = {};
	Elf32_Rela narrow = {};

	if (im->is_64_bit) {
		memcpy(&wide, at, bytes);
		return (struct relocation){ wide.r_offset, (uint64_t)wide.r_addend,
					    ELF64_R_SYM(wide.r_info), ELF64_R_TYPE(wide.r_info) };
	}
	memcpy(&narrow, at, bytes);
	return (struct relocation){ narrow.r_offset, (uint32_t)narrow.r_addend,
				    ELF32_R_SYM(narrow.r_info), ELF32_R_TYPE(narrow.r_info) };
}

static void read_slots(const struct image *im, const struct section *s, struct slots *slots)
{
	struct slice bytes = section_bytes(im, s);
	size_t size = relocation_bytes(im, s->type);
	struct table table = {};

	if (s->link < im->n_sections)
		table = table_of(im, &im->sections[s->link]);
	if (bytes.size > slots->left)
		return;
	slots->left -= bytes.size;
	for (size_t at = 0; bytes.size - at >= size; at += size) {
		struct relocation r = read_relocation(im, bytes.data + at, size);
		struct slot slot = { .vaddr = r.slot, .resolver = r.addend };

		if (!arch_fills_slot(r.type, im->has_64_bit_code))
			continue;
		if (r.symbol && r.symbol < table.n && slots->name_bytes < MOST_NAME_BYTES) {
			Elf64_Sym entry = table_entry(&table, r.symbol);

			slot.name = table_name(&table, &entry, &slots->name_bytes);
		}
		array_push(slots->list, slots->n, slots->capacity, slot);
	}
}

static int compare_plt_slots(const void *a, const void *b)
{
	const struct slot *x = a;
	const struct slot *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static void find_slots(const struct image *im, struct slots *ret)
{
	for (size_t i = 0; i < im->n_sections; i++)
		if (im->sections[i].type == SHT_RELA || im->sections[i].type == SHT_REL)
			read_slots(im, &im->sections[i], ret);
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), compare_plt_slots);
}

/* The base of slots' addresses in position-independent 32-bit code. */
static uint64_t global_table(const struct image *im)
{
	uint64_t vaddr = 0;

	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];

		if (strcmp(s->name, ".got.plt") == 0)
			return s->vaddr;
		if (strcmp(s->name, ".got") == 0)
			vaddr = s->vaddr;
	}
	return vaddr;
}

static void read_stubs(const struct image *im, const struct section *s, struct plt *plt,
		       size_t *capacity)
{
	struct slice code = section_bytes(im, s);
	const uint64_t got = im->has_64_bit_code ? 0 : global_table(im);
	struct stub *last = NULL;

	for (size_t at = 0; at < code.size; at += STUB_STEP) {
		struct stub stub = { .vaddr = s->vaddr + at };
		size_t left = code.size - at;

		if (left > ARCH_STUB_BYTES)
			left = ARCH_STUB_BYTES;
		if (!arch_stub_slot(code.data + at, left, stub.vaddr, im->has_64_bit_code, got,
				    &stub.slot))
			continue;
		stub.size = (uint8_t)left;
		if (last && stub.vaddr - last->vaddr < last->size)
			last->size = (uint8_t)(stub.vaddr - last->vaddr);
		array_push(plt->stubs, plt->n, *capacity, stub);
		last = &plt->stubs[plt->n - 1];
	}
}

static int by_stub_address(const void *a, const void *b)
{
	const struct stub *x = a;
	const struct stub *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static struct plt *build_plt(const struct image *im)
{
	struct plt *plt = xcalloc(1, sizeof(*plt));
	struct slots slots = { .left = im->size };
	size_t capacity = 0;

	/* At most as many stubs as the file has room for, because sections may overlap. */
	for (size_t i = 0; i < im->n_sections && plt->n < im->size / 8; i++)
		if (is_plt_section(&im->sections[i]))
			read_stubs(im, &im->sections[i], plt, &capacity);
	if (plt->n) {
		qsort(plt->stubs, plt->n, sizeof(*plt->stubs), by_stub_address);
		find_slots(im, &slots);
	}
	for (size_t i = 0; i < plt->n && slots.n; i++) {
		struct stub *stub = &plt->stubs[i];
		struct slot wanted = { .vaddr = stub->slot };
		const struct slot *slot = bsearch(&wanted, slots.list, slots.n, sizeof(*slots.list),
						  compare_plt_slots);

		stub->name = slot ? slot->name : NULL;
		stub->resolver = slot && !slot->name ? slot->resolver : 0;
	}
	free(slots.list);
	return plt;
}

bool plt_holds(const struct image *im, uint64_t vaddr)
{
	for (size_t i = 0; i < im->n_sections; i++) {
		const struct section *s = &im->sections[i];

		if (is_plt_section(s) && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return true;
	}
	return false;
}

static int compare_to_stub(const void *vaddr, const void *stub)
{
	uint64_t at = *(const uint64_t *)vaddr;
	const struct stub *s = stub;

	if (at < s->vaddr)
		return -1;
	return at - s->vaddr >= s->size;
}

bool plt_function_at(struct image *im, uint64_t vaddr, struct image_symbol *ret)
{
	if (!im->plt && !plt_holds(im, vaddr))
		return false;
	if (!im->plt)
		im->plt = build_plt(im);

	const struct stub *stub = NULL;
	struct image_symbol resolver;

	if (im->plt->n)
		stub = bsearch(&vaddr, im->plt->stubs, im->plt->n, sizeof(*stub), compare_to_stub);
	if (!stub)
		return false;

	const char *name = stub->name;

	/* A resolver that lies in a PLT itself would be an endless recursion. */
	if (!name && stub->resolver && !plt_holds(im, stub->resolver) &&
	    image_function_at(im, stub->resolver, &resolver) && resolver.vaddr == stub->resolver)
		name = resolver.name;
	if (!name)
		return false;
	*ret = (struct image_symbol){ .name = image_cut_version(im, name, "@plt"),
				      .vaddr = stub->vaddr,
				      .size = stub->size,
				      .is_global = true };
	return true;
}

void plt_free(struct plt *plt)
{
	if (!plt)
		return;
	free(plt->stubs);
	free(plt);
}

size_t plt_bytes(const struct plt *plt)
{
	return plt ? sizeof(*plt) + plt->n * sizeof(*plt->stubs) : 0;
}
