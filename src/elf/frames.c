// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * .eh_frame_hdr is a table of the functions that have an FDE in .eh_frame, with or without a
 * symbol, sorted by their start:
 *
 *	version 1, 0x1b, 0x03, 0x3b         the encodings of the rest, which all linkers use
 *	int32 .eh_frame  uint32 n
 *	n * { int32 start, int32 entry }    rows, relative to the header's own address
 *
 * Static programs have no .eh_frame_hdr. For these we read all entries, and make the rows.
 *
 * A function of C++ or Rust has a table of its calls in .gcc_except_table (LSDA). Its FDE has the
 * table's address in the augmentation data, if the CIE's letters ("zPLR") contain an 'L':
 *
 *	ff                  no base: landing pads are relative to the function's start
 *	9b 19               the encoding of types, and the distance to them
 *	01 10               the encoding of the list that follows, and its bytes
 *	08 05 29 01         the call in [8, 13) lands at 0x29; 1: an action
 *	29 05 00 00         the call in [0x29, 0x2e) lands nowhere
 */
#include "elf/frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "elf/internal.h"

/* DW_EH_PE_*: encodings of addresses. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_RELATIVE = 0x10, /* relative to its own place */
	PE_BASE = 0xf0,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORM = 0x0f,
	PE_OMITTED = 0xff,
};

#define MOST_LETTERS 16 /* of an augmentation */
#define MAX_LIST (256U << 10)

/* --- entries --- */

static size_t address_bytes_of(const struct image *im)
{
	return im->is_64_bit ? 8 : 4;
}

bool fde_section_of(const struct image *im, bool is_debug, struct fde_section *ret)
{
	*ret = (struct fde_section){ .is_debug = is_debug, .address_bytes = address_bytes_of(im) };
	return image_section(im, is_debug ? ".debug_frame" : ".eh_frame", &ret->bytes);
}

/* Read a number of encoding @form. Marks @c as spent for unknown forms. */
static uint64_t read_form(struct cursor *c, uint8_t form, size_t address_bytes)
{
	switch (form) {
	case PE_ABSOLUTE:
		return cursor_uint(c, address_bytes);
	case PE_UDATA8:
	case PE_SDATA8:
		return cursor_uint(c, 8);
	case PE_UDATA4:
		return cursor_uint(c, 4);
	case PE_UDATA2:
		return cursor_uint(c, 2);
	case PE_SDATA4:
		return (uint64_t)cursor_int(c, 4);
	case PE_SDATA2:
		return (uint64_t)cursor_int(c, 2);
	case PE_ULEB128:
		return cursor_uleb(c);
	case PE_SLEB128:
		return (uint64_t)cursor_sleb(c);
	default:
		c->is_spent = true;
		return 0;
	}
}

/*
 * Read an address; 0 stays 0. @here: where @c is, as linked. Marks @c as spent for pointers to it,
 * and for bases that no linker uses here.
 */
static uint64_t read_address(struct cursor *c, uint64_t here, uint8_t encoding,
			     size_t address_bytes)
{
	const uint64_t value = read_form(c, encoding & PE_FORM, address_bytes);

	if ((encoding & PE_BASE) == PE_RELATIVE && value)
		return here + value;
	if ((encoding & PE_BASE) != PE_RELATIVE && (encoding & PE_BASE) != PE_ABSOLUTE)
		c->is_spent = true;
	return value;
}

static uint64_t read_address_in(const struct fde_section *s, struct cursor *c, uint8_t encoding)
{
	const uint64_t here = s->bytes.vaddr + (uint64_t)(c->at - s->bytes.data);

	return read_address(c, here, encoding, s->address_bytes);
}

bool fde_next_entry(const struct fde_section *s, struct cursor *c, struct fde_entry *ret)
{
	size_t id_bytes = 4, id_offset;
	uint64_t length, id;
	const uint8_t *body;

	do { /* a length of 0 ends the part of one object file */
		if (cursor_left(c) < 8)
			return false;
		ret->offset = (size_t)(c->at - s->bytes.data);
		length = cursor_uint(c, 4);
	} while (!length);
	if (length == UINT32_MAX) {
		length = cursor_uint(c, 8);
		id_bytes = s->is_debug ? 8 : 4;
	}
	id_offset = (size_t)(c->at - s->bytes.data);
	body = cursor_skip(c, length);
	if (!body || length < id_bytes) {
		c->is_spent = true;
		return false;
	}
	ret->body = (struct cursor){ .at = body, .end = body + length };
	id = cursor_uint(&ret->body, id_bytes);
	ret->is_cie = s->is_debug ? id == (id_bytes == 4 ? UINT32_MAX : UINT64_MAX) : id == 0;
	ret->cie = s->is_debug ? id : id_offset - id;
	return true;
}

/* Read the data of "zPLRS", letter by letter. False: there is an unknown letter, or no data. */
static bool read_augmentation(const struct fde_section *s, const char *letters, struct cursor *data,
			      struct cie *ret)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			ret->encoding = (uint8_t)cursor_uint(data, 1);
			break;
		case 'L':
			ret->pads_encoding = (uint8_t)cursor_uint(data, 1);
			break;
		case 'P':
			encoding = (uint8_t)cursor_uint(data, 1);
			(void)read_form(data, encoding & PE_FORM, s->address_bytes);
			break;
		case 'S':
			ret->is_signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	}
	return !data->is_spent;
}

bool cie_read(const struct fde_section *s, const struct fde_entry *entry, struct cie *ret)
{
	struct cursor c = entry->body;
	const uint8_t version = (uint8_t)cursor_uint(&c, 1);
	const char *letters = (const char *)c.at;
	const size_t most = cursor_left(&c) < MOST_LETTERS ? cursor_left(&c) : MOST_LETTERS;
	const size_t n = strnlen(letters, most);

	*ret = (struct cie){ .encoding = PE_ABSOLUTE, .pads_encoding = PE_OMITTED };
	if (n == most || (version != 1 && version != 3 && version != 4))
		return false;
	(void)cursor_skip(&c, n + 1);
	/* 8 for addresses, 0 for segment selectors */
	if (version == 4 && cursor_uint(&c, 2) != 8)
		return false;
	if (letters[0] && (letters[0] != 'z' || s->is_debug))
		return false;
	ret->code_factor = cursor_uleb(&c);
	ret->data_factor = cursor_sleb(&c);
	ret->return_register = version == 1 ? cursor_uint(&c, 1) : cursor_uleb(&c);
	ret->has_augmentation = letters[0];
	if (ret->has_augmentation) {
		const uint64_t size = cursor_uleb(&c);
		struct cursor data = { .at = cursor_skip(&c, size) };

		if (!data.at)
			return false;
		data.end = data.at + size;
		if (!read_augmentation(s, letters + 1, &data, ret))
			return false;
	}
	ret->program = c;
	return !c.is_spent;
}

bool fde_read(const struct fde_section *s, const struct fde_entry *entry, const struct cie *cie,
	      struct image_frame *ret)
{
	struct cursor c = entry->body, data = {};
	uint64_t bytes;

	*ret = (struct image_frame){ .start = read_address_in(s, &c, cie->encoding) };
	bytes = read_form(&c, cie->encoding & PE_FORM, s->address_bytes);
	if (cie->has_augmentation) {
		const uint64_t size = cursor_uleb(&c);

		data.at = cursor_skip(&c, size);
		if (!data.at)
			return false;
		data.end = data.at + size;
	}
	if (cie->pads_encoding != PE_OMITTED) {
		ret->pads = read_address_in(s, &data, cie->pads_encoding);
		ret->is_uncertain = data.is_spent;
	}
	ret->program = c;
	return !c.is_spent && !__builtin_add_overflow(ret->start, bytes, &ret->end);
}

/* --- rows --- */

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

struct frames frames_of(const struct image *im)
{
	static const uint8_t usual[] = { 1, PE_RELATIVE | PE_SDATA4, PE_UDATA4, 0x3b };
	struct image_section header;
	struct frames t = {};

	if (!image_section(im, ".eh_frame_hdr", &header) || header.size < 12 ||
	    memcmp(header.data, usual, sizeof(usual)) != 0 ||
	    read_u32(header.data + 8) > (header.size - 12) / 8)
		return t;
	(void)fde_section_of(im, false, &t.section);
	t.vaddr = header.vaddr;
	t.rows = header.data + 12;
	t.n = read_u32(header.data + 8);
	return t;
}

/* The address in column 0 or 4 (bytes) of row @i. */
static uint64_t row_value(const struct frames *t, uint32_t i, size_t column)
{
	return t->vaddr + (uint64_t)(int32_t)read_u32(t->rows + 8 * (size_t)i + column);
}

/* The number of functions that begin at @vaddr or before. */
static uint32_t count_until(const struct frames *t, uint64_t vaddr)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row_value(t, middle, 0) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool entry_at(const struct fde_section *s, uint64_t offset, struct fde_entry *ret)
{
	struct cursor c = { .at = s->bytes.data, .end = s->bytes.data + s->bytes.size };

	return cursor_skip(&c, offset) && cursor_left(&c) >= 4 && read_u32(c.at) &&
	       fde_next_entry(s, &c, ret);
}

static bool fde_at(const struct fde_section *s, uint64_t offset, struct image_frame *ret)
{
	struct fde_entry entry, of;
	struct cie cie;

	return entry_at(s, offset, &entry) && !entry.is_cie && entry_at(s, entry.cie, &of) &&
	       of.is_cie && cie_read(s, &of, &cie) && fde_read(s, &entry, &cie, ret);
}

struct image_frame frames_nth(const struct frames *t, uint32_t i)
{
	const uint64_t start = row_value(t, i, 0);
	struct image_frame frame;

	if (fde_at(&t->section, row_value(t, i, 4) - t->section.bytes.vaddr, &frame) &&
	    frame.start == start && frame.end > start)
		return frame;
	return (struct image_frame){ .start = start, .end = start, .is_uncertain = true };
}

bool frames_last(const struct frames *t, uint64_t vaddr, struct image_frame *ret)
{
	const uint32_t n = count_until(t, vaddr);

	*ret = n ? frames_nth(t, n - 1) : (struct image_frame){};
	return n && ret->start <= vaddr; /* the rows of a foreign file need not be sorted */
}

uint64_t frame_end(const struct frames *t, uint64_t vaddr, uint64_t end)
{
	const uint32_t n = count_until(t, vaddr);
	const uint64_t own_end = n ? frames_nth(t, n - 1).end : 0;
	const uint64_t next = n < t->n ? row_value(t, n, 0) : end;

	if (next > vaddr && next < end)
		end = next;
	return own_end > vaddr && own_end < end ? own_end : end;
}

uint64_t frame_end_of(const struct frames *t, uint64_t vaddr)
{
	struct image_frame frame;

	return frames_last(t, vaddr, &frame) && frame.start == vaddr && frame.end > vaddr
		       ? frame.end
		       : 0;
}

/* Like a row of .eh_frame_hdr, but relative to the start of .eh_frame. */
struct row {
	int32_t start, entry;
};

static int compare_frame_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void *frames_make_rows(const struct image *im, struct frames *ret)
{
	struct row *rows = NULL;
	size_t n = 0, capacity = 0;
	struct fde_entry entry;
	struct image_frame frame;

	*ret = (struct frames){};
	if (!fde_section_of(im, false, &ret->section))
		return NULL;

	const struct image_section *s = &ret->section.bytes;
	struct cursor c = { .at = s->data, .end = s->data + s->size };

	while (fde_next_entry(&ret->section, &c, &entry)) {
		if (entry.is_cie || !fde_at(&ret->section, entry.offset, &frame))
			continue;

		const struct row row = { (int32_t)(frame.start - s->vaddr), (int32_t)entry.offset };

		/* Is it near enough for 32 bits? */
		if (s->vaddr + (uint64_t)row.start == frame.start &&
		    (uint64_t)row.entry == entry.offset)
			array_push(rows, n, capacity, row);
	}
	if (n)
		qsort(rows, n, sizeof(*rows), compare_frame_rows);
	ret->vaddr = s->vaddr;
	ret->rows = (const uint8_t *)rows;
	ret->n = (uint32_t)n;
	return rows;
}

/* --- files without section headers --- */

/* The size of .eh_frame at @vaddr, of which @frames are all bytes to the segment's end. It ends
 * with the last entry that .eh_frame_hdr has. 0: it makes no sense. */
static size_t count_bytes(const struct frames *t, struct slice frames, uint64_t vaddr)
{
	uint64_t last = vaddr, length;

	for (uint32_t i = 0; i < t->n; i++)
		if (row_value(t, i, 4) > last)
			last = row_value(t, i, 4);
	if (last - vaddr > frames.size || frames.size - (last - vaddr) < 4)
		return 0;
	length = read_u32(frames.data + (last - vaddr));
	last += 4;
	return length > frames.size - (last - vaddr) ? 0 : last - vaddr + length;
}

static void find_entries(struct image *im, const struct frames *t)
{
	const struct segment *h = &im->frame_header;
	const uint64_t vaddr = h->vaddr + 4 + (uint64_t)(int32_t)read_u32(im->data + h->offset + 4);
	const struct slice bytes = image_bytes_from(im, vaddr);

	if (!bytes.size)
		return;
	im->frames[1] = (struct section){ .name = ".eh_frame",
					  .vaddr = vaddr,
					  .offset = (uint64_t)(bytes.data - im->data),
					  .size = count_bytes(t, bytes, vaddr),
					  .type = SHT_PROGBITS };
}

void frames_find_sections(struct image *im)
{
	const struct segment *h = &im->frame_header;
	const struct section *own = section_named(im, ".eh_frame");
	struct frames found;

	if ((own && section_bytes(im, own).size) || !h->file_bytes)
		return;
	im->frames[0] = (struct section){ .name = ".eh_frame_hdr",
					  .vaddr = h->vaddr,
					  .offset = h->offset,
					  .size = h->file_bytes,
					  .type = SHT_PROGBITS };
	found = frames_of(im);
	if (found.rows)
		find_entries(im, &found);
}

/* --- landing pads --- */

bool image_each_landing_pad(const struct image *im, const struct image_frame *frame,
			    landing_visit *visit, void *context)
{
	const struct slice table = image_bytes_from(im, frame->pads);
	const size_t address_bytes = address_bytes_of(im);
	struct cursor c = { .at = table.data, .end = table.data + table.size };
	uint64_t base = frame->start, n_list;
	uint8_t encoding = (uint8_t)cursor_uint(&c, 1);

	if (encoding != PE_OMITTED)
		base = read_address(&c, frame->pads + 1, encoding, address_bytes);
	if (cursor_uint(&c, 1) != PE_OMITTED)
		(void)cursor_uleb(&c);
	encoding = (uint8_t)cursor_uint(&c, 1);
	n_list = cursor_uleb(&c);
	if (c.is_spent || n_list > MAX_LIST || n_list > cursor_left(&c))
		return false;
	c.end = c.at + n_list;
	while (cursor_left(&c)) {
		const uint64_t start = read_form(&c, encoding, address_bytes);
		const uint64_t bytes = read_form(&c, encoding, address_bytes);
		const uint64_t pad = read_form(&c, encoding, address_bytes);
		const struct landing_pad found = { frame->start + start,
						   frame->start + start + bytes, base + pad };

		(void)cursor_uleb(&c);
		if (c.is_spent)
			return false;
		if (pad)
			visit(context, &found);
	}
	return true;
}
