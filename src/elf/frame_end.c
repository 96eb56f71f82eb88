// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Find the end of code whose symbol has no size. .eh_frame_hdr is a table of the functions that
 * have unwind information, with or without a symbol, sorted by their start:
 *
 *	version 1, 0x1b, 0x03, 0x3b         the encodings of the rest, which all linkers use
 *	int32 .eh_frame  uint32 n
 *	n * { int32 start, int32 entry }    rows, relative to the header's own address
 *
 * An entry of .eh_frame has the length of its function:
 *
 *	uint32 length  uint32 back to its CIE  int32 start, relative to here  uint32 bytes
 *
 * if the CIE's augmentation ("zR", "zPLR") has 0x1b for 'R'. Static programs have no
 * .eh_frame_hdr. For these we read all entries, and make the rows.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "elf/internal.h"

#define PC_RELATIVE_4 0x1b

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

struct frames frames_of(const struct image *im)
{
	static const uint8_t usual[] = { 1, PC_RELATIVE_4, 0x03, 0x3b };
	const struct section *header = section_named(im, ".eh_frame_hdr");
	struct slice bytes = {};

	if (header)
		bytes = section_bytes(im, header);
	if (bytes.size < 12 || memcmp(bytes.data, usual, sizeof(usual)) != 0)
		return (struct frames){};

	const uint32_t n = read_u32(bytes.data + 8);
	const struct section *section = section_named(im, ".eh_frame");

	if (n > (bytes.size - 12) / 8)
		return (struct frames){};
	return (struct frames){
		.vaddr = header->vaddr,
		.rows = bytes.data + 12,
		.n = n,
		.entries = section ? section_bytes(im, section) : (struct slice){},
		.entries_vaddr = section ? section->vaddr : 0,
	};
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

static bool skip_leb128(struct slice cie, size_t *at)
{
	while (*at < cie.size && cie.data[*at] & 0x80)
		++*at;
	return ++*at < cie.size;
}

/* Do entries of the CIE at @at have addresses as PC_RELATIVE_4? */
static bool is_usual_cie(struct slice frames, size_t at)
{
	if (at > frames.size || frames.size - at < 12)
		return false;

	struct slice cie = { frames.data + at, frames.size - at };
	const char *augmentation = (const char *)cie.data + 9;
	size_t n = strnlen(augmentation, cie.size - 9);

	at = 9 + n + 1; /* after length, id, version and augmentation */
	if (at >= cie.size || augmentation[0] != 'z' || !skip_leb128(cie, &at) ||
	    !skip_leb128(cie, &at) || !skip_leb128(cie, &at) || !skip_leb128(cie, &at))
		return false;
	/* 'P' has a pointer after its encoding, nearly always of four bytes. */
	for (size_t i = 1; i < n && at < cie.size; i++) {
		if (augmentation[i] == 'R')
			return cie.data[at] == PC_RELATIVE_4;
		if (augmentation[i] == 'P' && (cie.data[at] & 0x0f) != 0x0b)
			return false;
		at += augmentation[i] == 'P' ? 5 : augmentation[i] == 'L';
	}
	return false;
}

/* The end of the function of row @i; 0: not known. */
static uint64_t row_end(const struct frames *t, uint32_t i)
{
	const uint64_t vaddr = row_value(t, i, 4);
	const uint64_t at = vaddr - t->entries_vaddr;
	const size_t size = t->entries.size;

	if (!size || vaddr < t->entries_vaddr || at > size || size - at < 16)
		return 0;

	const uint8_t *entry = t->entries.data + at;
	uint32_t back = read_u32(entry + 4);

	if (back > at + 4 || !is_usual_cie(t->entries, at + 4 - back))
		return 0;
	return vaddr + 8 + (uint64_t)(int32_t)read_u32(entry + 8) + read_u32(entry + 12);
}

uint64_t frames_start(const struct frames *t, uint32_t i, uint64_t *ret_end)
{
	const uint64_t start = row_value(t, i, 0);
	const uint64_t end = row_end(t, i);

	*ret_end = end > start ? end : start + 1;
	return start;
}

bool frames_find(const struct frames *t, uint64_t vaddr, uint32_t *ret)
{
	const uint32_t n = count_until(t, vaddr);

	*ret = n - 1;
	return n;
}

uint64_t frames_entry(const struct frames *t, uint32_t i)
{
	return row_value(t, i, 4);
}

uint64_t frame_end(const struct frames *t, uint64_t vaddr, uint64_t end)
{
	uint32_t n = count_until(t, vaddr);
	uint64_t own_end = n ? row_end(t, n - 1) : 0;
	uint64_t next = n < t->n ? row_value(t, n, 0) : end;

	if (next > vaddr && next < end)
		end = next;
	return own_end > vaddr && own_end < end ? own_end : end;
}

uint64_t frame_end_of(const struct frames *t, uint64_t vaddr)
{
	uint32_t n = count_until(t, vaddr);

	if (!n || row_value(t, n - 1, 0) != vaddr)
		return 0;

	uint64_t end = row_end(t, n - 1);

	return end > vaddr ? end : 0;
}

bool frame_start_of(const struct frames *t, uint64_t vaddr, uint64_t *ret_start)
{
	const uint32_t n = count_until(t, vaddr);

	if (!n || row_end(t, n - 1) <= vaddr)
		return false;
	*ret_start = row_value(t, n - 1, 0);
	return *ret_start <= vaddr; /* the rows of a foreign file need not be sorted */
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

/* Make the row of the entry (FDE) at @at. False: its function is too far away for 32 bits. */
static bool make_frame_row(struct slice entries, size_t at, struct row *ret)
{
	const int64_t start = (int64_t)at + 8 + (int32_t)read_u32(entries.data + at + 8);

	*ret = (struct row){ (int32_t)start, (int32_t)at };
	return start == ret->start && (int64_t)at == ret->entry;
}

void *frames_make_rows(const struct image *im, struct frames *ret)
{
	const struct section *section = section_named(im, ".eh_frame");
	const struct slice entries = section ? section_bytes(im, section) : (struct slice){};
	struct row *rows = NULL, row;
	size_t n = 0, capacity = 0;

	for (size_t at = 0; entries.size - at >= 16;) {
		const uint32_t length = read_u32(entries.data + at);
		const uint32_t back = read_u32(entries.data + at + 4);

		if (length < 4 || length > entries.size - at - 4)
			break;
		if (back && back <= at + 4 && length >= 12 &&
		    is_usual_cie(entries, at + 4 - back) && make_frame_row(entries, at, &row))
			array_push(rows, n, capacity, row);
		at += 4 + (size_t)length;
	}
	if (n)
		qsort(rows, n, sizeof(*rows), compare_frame_rows);
	*ret = (struct frames){ .vaddr = section ? section->vaddr : 0,
				.rows = (const uint8_t *)rows,
				.n = (uint32_t)n,
				.entries = entries,
				.entries_vaddr = section ? section->vaddr : 0 };
	return rows;
}

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
	const struct segment *s = image_segment_of(im, vaddr);

	if (!s)
		return;

	const uint64_t skip = vaddr - s->vaddr;
	const struct slice bytes = { im->data + s->offset + skip, s->file_bytes - skip };

	im->frames[1] = (struct section){ .name = ".eh_frame",
					  .vaddr = vaddr,
					  .offset = s->offset + skip,
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
