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
 * Numbers are LEB128 (encoding 1), or have four bytes (3). Compilers use no others. The entry
 * of the function in .eh_frame has the table's address, if its CIE's augmentation has an 'L':
 *
 *	"zPLR"   7, 9b .. .. .. .., 1b, 1b      P: pointer to a personality
 *	                                        L, R: encodings
 */
#include "elf/landing.h"

#include <string.h>

#include "elf/cursor.h"
#include "elf/internal.h"

#define OMITTED 0xff
#define PC_RELATIVE_4 0x1b
#define ABSOLUTE_4 0x03
#define LEB128 0x01
#define MAX_LIST (256U << 10)

/* Bytes of the file, up to a segment's end, which is at @end as linked. */
struct reading {
	struct cursor c;
	uint64_t end;
};

static struct reading reading_at(const struct image *im, uint64_t vaddr)
{
	const struct segment *s = image_segment_of(im, vaddr);
	struct reading r = { .c.is_spent = !s, .end = vaddr };

	if (s) {
		r.c.at = im->data + s->offset + (vaddr - s->vaddr);
		r.c.end = im->data + s->offset + s->file_bytes;
		r.end = s->vaddr + s->file_bytes;
	}
	return r;
}

static uint64_t vaddr_of_reading(const struct reading *r)
{
	return r->end - cursor_left(&r->c);
}

/* A number of a list of calls. */
static uint64_t read_landing_number(struct cursor *c, uint8_t encoding)
{
	if (encoding == LEB128)
		return cursor_uleb(c);
	if (encoding != ABSOLUTE_4)
		c->is_spent = true;
	return cursor_uint(c, 4);
}

/* An address of four bytes. */
static uint64_t read_landing_address(struct reading *r, uint8_t encoding)
{
	const uint64_t here = vaddr_of_reading(r);
	const uint64_t value = cursor_uint(&r->c, 4);

	if (encoding != PC_RELATIVE_4 && encoding != ABSOLUTE_4)
		r->c.is_spent = true;
	return encoding == PC_RELATIVE_4 && value ? here + (uint64_t)(int32_t)value : value;
}

/*
 * Read the CIE behind its version. Returns the encoding of tables' addresses, OMITTED for none. If
 * the addresses of functions are not PC_RELATIVE_4, it marks @c as spent.
 */
static uint8_t encoding_of_cie(struct cursor *c)
{
	const char *letter = (const char *)c->at;
	uint8_t found = OMITTED, encoding;

	if (c->is_spent || !cursor_skip(c, strnlen(letter, cursor_left(c)) + 1) || *letter != 'z')
		return OMITTED;
	for (int i = 0; i < 4; i++) /* both factors, the return address, the size */
		(void)cursor_uleb(c);
	while (*++letter) {
		if (*letter == 'S' || *letter == 'B')
			continue;
		encoding = (uint8_t)cursor_uint(c, 1);
		if (*letter == 'P')
			(void)cursor_skip(c, (encoding & 0x07) == 0x03 ? 4 : 8);
		if (*letter == 'R' && encoding != PC_RELATIVE_4)
			c->is_spent = true;
		if (*letter == 'L')
			found = encoding;
	}
	return found;
}

/* Find the table of landing pads of the entry at @vaddr. */
static void find_pads(const struct image *im, uint64_t vaddr, struct image_frame *ret)
{
	struct reading r = reading_at(im, vaddr + 4); /* behind the length */
	struct reading cie = reading_at(im, vaddr + 4 - cursor_uint(&r.c, 4));
	uint8_t encoding;

	(void)cursor_skip(&cie.c, 9); /* length, number and version */
	encoding = encoding_of_cie(&cie.c);
	if (encoding != OMITTED) {
		(void)cursor_skip(&r.c, 8); /* start and bytes */
		(void)cursor_uleb(&r.c);
		ret->pads = read_landing_address(&r, encoding);
	}
	ret->is_uncertain = cie.c.is_spent || r.c.is_spent;
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
	struct cursor *const c = &r.c;
	uint64_t base = frame->start, n_list;
	uint8_t encoding = (uint8_t)cursor_uint(c, 1);

	if (encoding != OMITTED)
		base = read_landing_address(&r, encoding);
	if (cursor_uint(c, 1) != OMITTED)
		(void)cursor_uleb(c);
	encoding = (uint8_t)cursor_uint(c, 1);
	n_list = cursor_uleb(c);
	if (n_list > MAX_LIST || n_list > cursor_left(c))
		return false;
	c->end = c->at + n_list;
	while (cursor_left(c)) {
		const uint64_t start = read_landing_number(c, encoding);
		const uint64_t bytes = read_landing_number(c, encoding);
		const uint64_t pad = read_landing_number(c, encoding);
		const struct landing_pad found = { frame->start + start,
						   frame->start + start + bytes, base + pad };

		(void)cursor_uleb(c);
		if (c->is_spent)
			return false;
		if (pad)
			visit(context, &found);
	}
	return !c->is_spent;
}
