// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The format of .gopclntab from Go 1.18 on, little endian, for pointers of 8 bytes. Sources in Go:
 * src/runtime/symtab.go (pcHeader, functab), runtime2.go (_func), cmd/link/internal/ld/pcln.go.
 *
 *	uint32 magic  uint8 0, 0, q, 8   uint64 n  uint64 files  uint64 text
 *	uint64 names  uint64 units  uint64 files  uint64 steps  uint64 functions     offsets
 *	functions:  n * { uint32 start, from text;  uint32 record, from functions }  uint32 end
 *	record:     uint32 start  int32 name  int32 args  uint32 deferreturn
 *	            uint32 sp, file and line steps  ...  uint8 id, flags
 *	steps:      { difference of the value, zigzag;  difference of the address, in units of q } 0
 *
 *	1.18   0xfffffff0
 *	1.20   0xfffffff1   a record has startLine before its id. Since 1.26 "text" is 0, and
 *	                    runtime.firstmoduledata (section .go.module) has it, after 22 words
 *
 * Position-independent programs have the table in .data.rel.ro.gopclntab. Linkers other than Go's
 * put it into .data.rel.ro. In these programs "text" is 0 in the file, and a relocation has it.
 */
#include "elf/gopclntab.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "elf/internal.h"

/* Offsets in the header, in the entry of a function, and in a record. */
#define N_AT 8
#define TEXT_AT 24
#define NAMES_AT 32
#define STEPS_AT 56
#define FUNCTIONS_AT 64
#define HEADER_BYTES 72
#define ENTRY_BYTES 8
#define NAME_AT 4
#define FIRST_STEP_AT 16
#define MODULE_TEXT 176 /* the offset of "text" in moduledata */
#define TABLE_ALIGNMENT 16

static struct slice bytes_from_offset(struct slice of, uint64_t offset)
{
	if (offset > of.size)
		return (struct slice){};
	return (struct slice){ of.data + offset, of.size - offset };
}

/* Does it begin as a table of any version, from 0xfffffff0 (Go 1.18) to 0xfffffffb (Go 1.2)? */
static bool is_table_head(struct slice table)
{
	static const uint8_t rest[] = { 0, 0, ARCH_GO_QUANTUM, 8 };

	return table.size >= HEADER_BYTES && memcmp(table.data + 4, rest, sizeof(rest)) == 0 &&
	       uint_at(table.data, 4) >= 0xfffffff0;
}

/* The offset of the flags in records of the table's format. 0: the format is unknown. */
static uint8_t flags_place(struct slice table)
{
	const uint64_t magic = is_table_head(table) ? uint_at(table.data, 4) : 0;

	return magic == 0xfffffff0 ? 37 : magic == 0xfffffff1 ? 41 : 0;
}

/* Cut section @s to the table in it, from its head on. False: there is none. */
static bool cut_to_table(struct image_section *s)
{
	size_t at = (size_t)(-s->vaddr % TABLE_ALIGNMENT);

	for (; at < s->size; at += TABLE_ALIGNMENT) {
		if (!is_table_head((struct slice){ s->data + at, s->size - at }))
			continue;
		*s = (struct image_section){ s->data + at, s->size - at, s->vaddr + at };
		return true;
	}
	return false;
}

static bool find_go_table(const struct image *im, struct image_section *ret)
{
	return image_section(im, ".gopclntab", ret) ||
	       image_section(im, ".data.rel.ro.gopclntab", ret) ||
	       ((section_named(im, ".go.buildinfo") || section_named(im, ".note.go.buildid")) &&
		image_section(im, ".data.rel.ro", ret) && cut_to_table(ret));
}

/* The address as linked that a relative relocation writes at @vaddr; 0: there is none. */
static uint64_t relocated_at(const struct image *im, uint64_t vaddr)
{
	struct image_section bytes;
	Elf64_Rela rela;

	if (!image_section(im, ".rela.dyn", &bytes))
		return 0;
	for (size_t at = 0; bytes.size - at >= sizeof(rela); at += sizeof(rela)) {
		memcpy(&rela, bytes.data + at, sizeof(rela));
		if (rela.r_offset == vaddr && ELF64_R_TYPE(rela.r_info) == ARCH_RELATIVE)
			return (uint64_t)rela.r_addend;
	}
	return 0;
}

static uint64_t pointer_at(const struct image *im, uint64_t vaddr)
{
	const struct slice bytes = image_bytes_from(im, vaddr);
	uint64_t value;

	if (bytes.size < sizeof(value))
		return 0;
	value = uint_at(bytes.data, sizeof(value));
	return value ? value : relocated_at(im, vaddr);
}

/* The start of Go's code, which may follow C code. 0: the file does not have it. */
static uint64_t go_text_start(const struct image *im, uint64_t table_vaddr)
{
	const uint64_t told = pointer_at(im, table_vaddr + TEXT_AT);
	const struct section *module = section_named(im, ".go.module");

	if (told || !module || pointer_at(im, module->vaddr) != table_vaddr)
		return told;
	return pointer_at(im, module->vaddr + MODULE_TEXT);
}

uint64_t go_function_start(const struct go_table *t, uint32_t i)
{
	return t->text + uint_at(t->functions.data + (size_t)i * ENTRY_BYTES, 4);
}

/* Do functions have ascending addresses, in one segment of code? */
static bool is_in_order(const struct image *im, const struct go_table *t)
{
	uint64_t end = go_function_start(t, 0);
	const struct segment *s = image_segment_of(im, end);

	for (uint32_t i = 1; i <= t->n; i++) {
		const uint64_t start = go_function_start(t, i);

		if (start < end)
			return false;
		end = start;
	}
	return s && s->is_executable && end - s->vaddr <= s->file_bytes;
}

/* The record of function @i; NULL: the table does not hold all members that we read. */
static const uint8_t *go_function_record(const struct go_table *t, uint32_t i)
{
	const uint64_t offset = uint_at(t->functions.data + (size_t)i * ENTRY_BYTES + 4, 4);

	if (offset > t->functions.size || t->functions.size - offset <= t->flags_at)
		return NULL;
	return t->functions.data + offset;
}

/* The offset of the steps of function @i; 0: there are none. */
static uint32_t first_step_of(const struct go_table *t, uint32_t i)
{
	const uint8_t *record = go_function_record(t, i);

	return record ? (uint32_t)uint_at(record + FIRST_STEP_AT, 4) : 0;
}

bool go_has_steps(const struct go_table *t, uint32_t i)
{
	const struct go_function f = { .start = go_function_start(t, i),
				       .end = go_function_start(t, i + 1),
				       .steps = first_step_of(t, i) };
	struct go_steps s = go_steps_of(t, &f);

	return go_next_step(&s);
}

bool image_is_go(const struct image *im)
{
	struct image_section table;

	return find_go_table(im, &table);
}

bool go_table_of(const struct image *im, struct go_table *ret)
{
	struct image_section section;
	struct go_table t = {};
	struct slice table;
	uint64_t n;

	if (!im->is_64_bit || !find_go_table(im, &section))
		return false;
	table = (struct slice){ section.data, section.size };
	t.flags_at = flags_place(table);
	if (!t.flags_at)
		return false;
	n = uint_at(table.data + N_AT, 8);
	t.names = whole_strings(bytes_from_offset(table, uint_at(table.data + NAMES_AT, 8)));
	t.steps = bytes_from_offset(table, uint_at(table.data + STEPS_AT, 8));
	t.functions = bytes_from_offset(table, uint_at(table.data + FUNCTIONS_AT, 8));
	if (!n || n > MOST_SYMBOLS || t.functions.size < n * ENTRY_BYTES + 4)
		return false;
	t.n = (uint32_t)n;
	t.text = go_text_start(im, section.vaddr);
	if (!t.text || !is_in_order(im, &t))
		return false;
	*ret = t;
	return true;
}

bool go_function_at(const struct go_table *t, uint32_t i, struct go_function *ret)
{
	const uint64_t next = go_function_start(t, i + 1);
	const uint8_t *record = go_function_record(t, i);
	struct go_steps steps;

	*ret = (struct go_function){ .name = "", .start = go_function_start(t, i), .end = next };
	if (!record || ret->start == next)
		return false;

	const uint64_t name = uint_at(record + NAME_AT, 4);

	if (name < t->names.size)
		ret->name = (const char *)t->names.data + name;
	ret->steps = first_step_of(t, i);
	ret->flags = record[t->flags_at];
	steps = go_steps_of(t, ret);
	while (go_next_step(&steps))
		ret->end = steps.end;
	return true;
}

bool go_function_from(const struct go_table *t, uint64_t vaddr, struct go_function *ret)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (go_function_start(t, middle) < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->n && go_function_at(t, low, ret) && ret->start == vaddr;
}

struct go_steps go_steps_of(const struct go_table *t, const struct go_function *f)
{
	return (struct go_steps){ .left = f->steps ? bytes_from_offset(t->steps, f->steps)
						   : t->steps,
				  .start = f->start,
				  .end = f->start,
				  .limit = f->steps ? f->end : f->start,
				  .delta = -1 };
}

/* Read a number of seven bits a byte, lowest first. False: it is cut, or has more than 32 bits. */
static bool read_number(struct slice *from, uint32_t *ret)
{
	uint64_t value = 0;

	for (unsigned bits = 0; bits < 35 && from->size; bits += 7) {
		const uint8_t byte = *from->data;

		*from = bytes_from_offset(*from, 1);
		value |= (uint64_t)(byte & 0x7f) << bits;
		if (byte & 0x80)
			continue;
		*ret = (uint32_t)value;
		return value <= UINT32_MAX;
	}
	return false;
}

/* A difference of 0 ends the steps, except in the first one. */
bool go_next_step(struct go_steps *s)
{
	const bool is_first = s->end == s->start;
	uint32_t value, bytes;

	if (s->end >= s->limit || !read_number(&s->left, &value) || (!value && !is_first) ||
	    !read_number(&s->left, &bytes) || !bytes ||
	    bytes > (s->limit - s->end) / ARCH_GO_QUANTUM)
		return false;
	s->start = s->end;
	s->end += (uint64_t)bytes * ARCH_GO_QUANTUM;
	s->delta = (int32_t)((uint32_t)s->delta + (value >> 1 ^ -(value & 1)));
	return true;
}
