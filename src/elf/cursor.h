/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/cursor.h - read a slice of a file. A read past the end gives 0 and marks the cursor as
 * spent. So callers can do several reads, and check the mark once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Some bytes of the file. */
struct slice {
	const uint8_t *data;
	size_t size;
};

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool is_spent; /* a read went past the end */
};

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Skip @n bytes. Returns their address, or NULL. */
static inline const uint8_t *cursor_skip(struct cursor *c, uint64_t n)
{
	const uint8_t *from = c->at;

	if (n > cursor_left(c)) {
		c->is_spent = true;
		c->at = c->end;
		return NULL;
	}
	c->at += n;
	return from;
}

/* The little-endian number in the @n bytes at @at, at most 8. */
static inline uint64_t uint_at(const uint8_t *at, size_t n)
{
	uint64_t value = 0;

	memcpy(&value, at, n);
	return value;
}

static inline uint64_t cursor_uint(struct cursor *c, size_t n)
{
	const uint8_t *at = cursor_skip(c, n);

	return at ? uint_at(at, n) : 0;
}

/* Assemblers pad numbers in LEB128, but to no more bytes than these. */
#define MOST_LEB128_BYTES 16

/* Read a number in LEB128. Drops bits beyond 64. *@ret_bits: how many bits its bytes have; 64 or
 * more: all of the result. */
static inline uint64_t cursor_leb128(struct cursor *c, unsigned *ret_bits)
{
	uint64_t value = 0;
	unsigned bits = 0;

	for (int i = 0; i < MOST_LEB128_BYTES && c->at < c->end; i++) {
		uint8_t byte = *c->at++;

		if (bits < 64)
			value |= (uint64_t)(byte & 0x7f) << bits;
		bits += bits < 64 ? 7 : 0;
		if (!(byte & 0x80)) {
			*ret_bits = bits;
			return value;
		}
	}
	c->is_spent = true;
	*ret_bits = 64;
	return 0;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	unsigned bits;

	return cursor_leb128(c, &bits);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	unsigned bits;
	uint64_t value = cursor_leb128(c, &bits);

	if (bits < 64 && value >> (bits - 1) & 1)
		value |= ~0ULL << bits;
	return (int64_t)value;
}
