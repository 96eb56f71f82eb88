/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* saved/wire.h - the encoding of protobuf, read from bytes that anyone may have written. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are not read yet. */
struct wire {
	const uint8_t *at, *end;
};

struct wire_field {
	unsigned number;
	unsigned type;
	uint64_t value;    /* unless @type is WIRE_BYTES */
	struct wire bytes; /* if it is */
};

static inline size_t wire_n(const struct wire *w)
{
	return (size_t)(w->end - w->at);
}

/* Read a number of 1 to 10 bytes. False if there is none. */
bool wire_varint(struct wire *w, uint64_t *ret);

/* Read the next field of a message. Returns 1, 0 at the end, or -1 if it is damaged. */
int wire_next(struct wire *w, struct wire_field *ret);

/*
 * Read the next number of a repeated field: from @field->bytes if packed, else @field itself.
 * *@is_begun is false before the first call. Returns as wire_next().
 */
int wire_next_number(struct wire_field *field, bool *is_begun, uint64_t *ret);
