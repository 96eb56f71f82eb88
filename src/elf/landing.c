// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A function of C++ or Rust has a table of its calls in .gcc_except_table (LSDA):
 *
 *	ff                  no base: landing pads are relative to the function's start
 *	9b 19               the encoding of types, and the distance to them
 *	01 10               the encoding of the list that follows, and its bytes
 *	08 05 29 01         the call in [8, 13) lands at 0x29; 1: an action
 *	29 05 00 00         the call in [0x29, 0x2e) lands nowhere
 *
 * Numbers are LEB128 (encoding 1), or have four bytes (3). Compilers use no others. The entry of
 *the function in .eh_frame has the table's address, if its CIE's augmentation has an 'L':
 *
 *	"zPLR"   7, 9b .. .. .. .., 1b, 1b      P: pointer to a personality, L: encoding, R:
 *encoding
 */
#include "elf/landing.h"

#include <string.h>

#include "elf/internal.h"

#define OMITTED 0xff
#define PC_RELATIVE_4 0x1b
#define ABSOLUTE_4 0x03
#define LEB128 0x01
#define MAX_SITES 65536

/* Bytes of the file from @vaddr on. */
struct reading {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t vaddr; /* of @at */
	bool is_bad;    /* they have ended too early */
};

static struct reading reading_at(const struct image *im, uint64_t vaddr)
{
	const struct segment *s = image_segment_of(im, vaddr);
	struct reading r = { .vaddr = vaddr, .is_bad = !s };

	if (s) {
		r.at = im->data + s->offset + (vaddr - s->vaddr);
		r.end = im->data + s->offset + s->file_bytes;
	}
	return r;
}

static void skip_landing_bytes(struct reading *r, uint64_t n)
{
	if (r->is_bad || (uint64_t)(r->end - r->at) < n) {
		r->is_bad = true;
		return;
	}
	r->at += n;
	r->vaddr += n;
}

static uint8_t read_landing_byte(struct reading *r)
{
	const uint8_t *at = r->at;

	skip_landing_bytes(r, 1);
	return r->is_bad ? 0 : *at;
}

static uint32_t read_4(struct reading *r)
{
	const uint8_t *at = r->at;
	uint32_t value = 0;

	skip_landing_bytes(r, sizeof(value));
	if (!r->is_bad)
		memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t read_leb128(struct reading *r)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned shift = 0;

	do {
		byte = read_landing_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->is_bad);
	return value;
}

/* A number of a list of calls. */
static uint64_t read_landing_number(struct reading *r, uint8_t encoding)
{
	if (encoding == LEB128)
		return read_leb128(r);
	if (encoding != ABSOLUTE_4)
		r->is_bad = true;
	return read_4(r);
}

/* An address of four bytes. */
static uint64_t read_address(struct reading *r, uint8_t encoding)
{
	const uint64_t here = r->vaddr;
	const uint32_t value = read_4(r);

	if (encoding != PC_RELATIVE_4 && encoding != ABSOLUTE_4)
		r->is_bad = true;
	return encoding == PC_RELATIVE_4 && value ? here + (uint64_t)(int32_t)value : value;
}

/* Read the CIE behind its version. Returns the encoding of tables' addresses, OMITTED for none. */
static uint8_t encoding_of_cie(struct reading *r)
{
	const uint8_t *augmentation = r->at;
	uint8_t found = OMITTED;

	while (read_landing_byte(r))
		;
	if (r->is_bad || augmentation[0] != 'z')
		return OMITTED;
	for (int i = 0; i < 4; i++) /* both factors, the return address, the size */
		(void)read_leb128(r);
	for (augmentation++; *augmentation && !r->is_bad; augmentation++) {
		const uint8_t encoding =
			*augmentation == 'S' || *augmentation == 'B' ? 0 : read_landing_byte(r);

		if (*augmentation == 'P')
			skip_landing_bytes(r, (encoding & 0x07) == 0x03 ? 4 : 8);
		if (*augmentation == 'L')
			found = encoding;
	}
	return found;
}

/* Find the table of landing pads of the entry at @vaddr. */
static void find_pads(const struct image *im, uint64_t vaddr, struct image_frame *ret)
{
	struct reading r = reading_at(im, vaddr);
	struct reading cie;
	uint8_t encoding;

	(void)read_4(&r);
	cie = reading_at(im, r.vaddr);
	cie = reading_at(im, r.vaddr - read_4(&cie));
	skip_landing_bytes(&cie, 9); /* length, number and version */
	encoding = encoding_of_cie(&cie);
	if (encoding != OMITTED) {
		skip_landing_bytes(&r, 12);
		(void)read_leb128(&r);
		ret->pads = read_address(&r, encoding);
	}
	ret->is_uncertain = cie.is_bad || r.is_bad;
}

bool frame_at(const struct image *im, const struct frames *t, uint64_t vaddr,
	      struct image_frame *ret)
{
	uint32_t i;

	*ret = (struct image_frame){};
	if (!frames_find(t, vaddr, &i))
		return false;
	ret->start = frames_start(t, i, &ret->end);
	if (ret->start > vaddr || ret->end <= vaddr)
		return false;
	find_pads(im, frames_entry(t, i), ret);
	return true;
}

bool image_each_landing_pad(const struct image *im, const struct image_frame *frame,
			    landing_visit *visit, void *context)
{
	struct reading r = reading_at(im, frame->pads);
	uint64_t base = frame->start, end;
	uint8_t encoding = read_landing_byte(&r);

	if (encoding != OMITTED)
		base = read_address(&r, encoding);
	if (read_landing_byte(&r) != OMITTED)
		(void)read_leb128(&r);
	encoding = read_landing_byte(&r);
	end = read_leb128(&r);
	end += r.vaddr;
	for (int i = 0; i < MAX_SITES && r.vaddr < end && !r.is_bad; i++) {
		const uint64_t start = read_landing_number(&r, encoding);
		const uint64_t bytes = read_landing_number(&r, encoding);
		const uint64_t pad = read_landing_number(&r, encoding);
		const struct landing_pad found = { frame->start + start,
						   frame->start + start + bytes, base + pad };

		(void)read_leb128(&r);
		if (pad && !r.is_bad)
			visit(context, &found);
	}
	return !r.is_bad;
}
