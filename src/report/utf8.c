#include "report/utf8.h"

/* The NUL at the text's end is no continuation byte, so nothing is read past it. */
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

bool utf8_is_active(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||       /* C0, DEL, C1 */
	       (c >= 0x200e && c <= 0x200f) || c == 0x61c || /* direction marks */
	       (c >= 0x2028 && c <= 0x202e) ||               /* separators, embeddings, overrides */
	       (c >= 0x2066 && c <= 0x2069);                 /* isolates */
}
