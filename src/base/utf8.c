// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/utf8.h"

#include "base/memory.h"

/* The NUL at the end is no continuation byte, so this never reads past it. */
size_t utf8_at(const unsigned char *text, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = text[0] < 0x80             ? 1
		   : (text[0] & 0xe0) == 0xc0 ? 2
		   : (text[0] & 0xf0) == 0xe0 ? 3
		   : (text[0] & 0xf8) == 0xf0 ? 4
					      : 0;

	if (n == 0)
		return 0;

	uint32_t c = n == 1 ? text[0] : text[0] & (0x7fU >> n);

	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

/*
 * Format characters, line separators and paragraph separators (Cf, Zl, Zp of Unicode 16), in
 * ascending order. A terminal shows nothing for them, or reverses the text around them.
 */
static const struct range {
	uint32_t first, last;
} formats[] = {
	{ 0xad, 0xad },       { 0x600, 0x605 },     { 0x61c, 0x61c },     { 0x6dd, 0x6dd },
	{ 0x70f, 0x70f },     { 0x890, 0x891 },     { 0x8e2, 0x8e2 },     { 0x180e, 0x180e },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x2064 },   { 0x2066, 0x206f },
	{ 0xfeff, 0xfeff },   { 0xfff9, 0xfffb },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0001, 0xe0001 },
	{ 0xe0020, 0xe007f },
};

bool utf8_is_active(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c <= 0x9f)) /* C0, DEL, C1 */
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(formats) && formats[i].first <= c; i++)
		if (c <= formats[i].last)
			return true;
	return false;
}
