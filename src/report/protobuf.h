/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/protobuf.h - messages of protobuf, in a buffer that grows. A zeroed struct is an empty
 * message. Members with the value 0 are left out, as protobuf does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct proto {
	uint8_t *bytes;
	size_t n;
	size_t capacity;
};

#define PROTO_MOST_VARINT ((size_t)10) /* bytes */

void proto_fini(struct proto *m);

/* Make room for @n more bytes. */
void proto_reserve(struct proto *m, size_t n);

/* Write @value at @to, which has room. Returns the end. */
static inline uint8_t *proto_varint_at(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

/* Append @n bytes as they are. */
void proto_put(struct proto *m, const void *bytes, size_t n);

/* Append a number alone: an element of packed numbers. */
void proto_varint(struct proto *m, uint64_t value);

void proto_number(struct proto *m, unsigned field, uint64_t value);

/* The same, even of 0. */
void proto_any_number(struct proto *m, unsigned field, uint64_t value);

/* A text, packed numbers or a message of @n bytes, even of none. */
void proto_bytes(struct proto *m, unsigned field, const void *bytes, size_t n);
