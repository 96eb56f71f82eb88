// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
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

#include <dwarf.h>
#include <string.h>

#include "elf/internal.h"

#define PE_BASE 0xf0 /* of an encoding, and */
#define PE_FORM 0x0f

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
	case DW_EH_PE_absptr:
		return cursor_uint(c, address_bytes);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_uint(c, 8);
	case DW_EH_PE_udata4:
		return cursor_uint(c, 4);
	case DW_EH_PE_udata2:
		return cursor_uint(c, 2);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cursor_uint(c, 4);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cursor_uint(c, 2);
	case DW_EH_PE_uleb128:
		return cursor_uleb(c);
	case DW_EH_PE_sleb128:
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

	if ((encoding & PE_BASE) == DW_EH_PE_pcrel && value)
		return here + value;
	if ((encoding & PE_BASE) != DW_EH_PE_pcrel && (encoding & PE_BASE) != DW_EH_PE_absptr)
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

	*ret = (struct cie){ .encoding = DW_EH_PE_absptr, .pads_encoding = DW_EH_PE_omit };
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
	if (cie->pads_encoding != DW_EH_PE_omit) {
		ret->pads = read_address_in(s, &data, cie->pads_encoding);
		ret->is_uncertain = data.is_spent;
	}
	ret->program = c;
	return !c.is_spent && !__builtin_add_overflow(ret->start, bytes, &ret->end);
}

/* --- landing pads --- */

bool image_each_landing_pad(const struct image *im, const struct image_frame *frame,
			    landing_visit *visit, void *context)
{
	const struct slice table = image_bytes_from(im, frame->pads);
	const size_t address_bytes = address_bytes_of(im);
	struct cursor c = { .at = table.data, .end = table.data + table.size };
	uint64_t base = frame->start, n_list;
	uint8_t encoding;

	if (!table.data)
		return false;
	encoding = (uint8_t)cursor_uint(&c, 1);
	if (encoding != DW_EH_PE_omit)
		base = read_address(&c, frame->pads + 1, encoding, address_bytes);
	if (cursor_uint(&c, 1) != DW_EH_PE_omit)
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

		(void)cursor_uleb(&c);
		if (c.is_spent)
			return false;
		if (pad)
			visit(context, frame->start + start, frame->start + start + bytes,
			      base + pad);
	}
	return true;
}
