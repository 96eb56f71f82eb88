// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "saved/wire.h"

#include "profile/pprof.h"

#define MOST_FIELD ((1U << 29) - 1)

bool wire_varint(struct wire *w, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && w->at < w->end; shift += 7) {
		const uint8_t byte = *w->at++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool take_fixed(struct wire *w, size_t n, uint64_t *ret)
{
	if (wire_n(w) < n)
		return false;
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret |= (uint64_t)w->at[i] << 8 * i;
	w->at += n;
	return true;
}

static bool take_bytes(struct wire *w, struct wire *ret)
{
	uint64_t n;

	if (!wire_varint(w, &n) || n > wire_n(w))
		return false;
	*ret = (struct wire){ w->at, w->at + n };
	w->at += n;
	return true;
}

int wire_next(struct wire *w, struct wire_field *ret)
{
	uint64_t tag;
	bool is_whole;

	if (w->at == w->end)
		return 0;
	if (!wire_varint(w, &tag) || tag >> 3 == 0 || tag >> 3 > MOST_FIELD)
		return -1;
	ret->number = (unsigned)(tag >> 3);
	ret->type = tag & 7;
	ret->value = 0;
	ret->bytes = (struct wire){};
	switch (ret->type) {
	case WIRE_VARINT:
		is_whole = wire_varint(w, &ret->value);
		break;
	case WIRE_FIXED64:
		is_whole = take_fixed(w, 8, &ret->value);
		break;
	case WIRE_BYTES:
		is_whole = take_bytes(w, &ret->bytes);
		break;
	case WIRE_FIXED32:
		is_whole = take_fixed(w, 4, &ret->value);
		break;
	default: /* groups, which profile.proto does not have */
		is_whole = false;
	}
	return is_whole ? 1 : -1;
}

int wire_next_number(struct wire_field *field, bool *is_begun, uint64_t *ret)
{
	const bool is_first = !*is_begun;

	*is_begun = true;
	if (field->type == WIRE_VARINT) {
		*ret = field->value;
		return is_first;
	}
	if (field->type != WIRE_BYTES)
		return -1;
	if (field->bytes.at == field->bytes.end)
		return 0;
	return wire_varint(&field->bytes, ret) ? 1 : -1;
}
