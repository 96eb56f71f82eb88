// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/protobuf.h"

#include "profile/pprof.h"

#define MOST_VARINT 10 /* bytes */

/* Write @value at @to. Returns the end. */
static char *put_varint(char *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (char)(value | 0x80);
	*to++ = (char)value;
	return to;
}

static void put_two(struct strbuf *m, uint64_t first, uint64_t second)
{
	char bytes[2 * MOST_VARINT];
	const char *end = put_varint(put_varint(bytes, first), second);

	strbuf_put(m, bytes, (size_t)(end - bytes));
}

void proto_varint(struct strbuf *m, uint64_t value)
{
	char bytes[MOST_VARINT];

	strbuf_put(m, bytes, (size_t)(put_varint(bytes, value) - bytes));
}

void proto_any_number(struct strbuf *m, unsigned field, uint64_t value)
{
	put_two(m, field << 3 | WIRE_VARINT, value);
}

void proto_number(struct strbuf *m, unsigned field, uint64_t value)
{
	if (value)
		proto_any_number(m, field, value);
}

void proto_bytes(struct strbuf *m, unsigned field, const void *bytes, size_t n)
{
	put_two(m, field << 3 | WIRE_BYTES, n);
	if (n)
		strbuf_put(m, bytes, n);
}
