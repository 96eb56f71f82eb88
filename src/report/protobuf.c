// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/pprof.h"

void proto_fini(struct proto *m)
{
	free(m->bytes);
	*m = (struct proto){};
}

void proto_reserve(struct proto *m, size_t n)
{
	if (m->capacity - m->n >= n)
		return;

	const size_t needed = m->n + n, doubled = m->capacity * 2;

	m->capacity = doubled > needed ? doubled : needed;
	m->bytes = xreallocarray(m->bytes, m->capacity, 1);
}

void proto_put(struct proto *m, const void *bytes, size_t n)
{
	proto_reserve(m, n);
	if (n)
		memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

void proto_varint(struct proto *m, uint64_t value)
{
	proto_reserve(m, PROTO_MOST_VARINT);
	m->n = (size_t)(proto_varint_at(m->bytes + m->n, value) - m->bytes);
}

void proto_any_number(struct proto *m, unsigned field, uint64_t value)
{
	proto_reserve(m, 2 * PROTO_MOST_VARINT);

	uint8_t *to = proto_varint_at(m->bytes + m->n, field << 3 | WIRE_VARINT);

	m->n = (size_t)(proto_varint_at(to, value) - m->bytes);
}

void proto_number(struct proto *m, unsigned field, uint64_t value)
{
	if (value)
		proto_any_number(m, field, value);
}

void proto_bytes(struct proto *m, unsigned field, const void *bytes, size_t n)
{
	proto_reserve(m, n + 2 * PROTO_MOST_VARINT);

	uint8_t *to = proto_varint_at(m->bytes + m->n, field << 3 | WIRE_BYTES);

	to = proto_varint_at(to, n);
	if (n)
		memcpy(to, bytes, n);
	m->n = (size_t)(to - m->bytes) + n;
}
