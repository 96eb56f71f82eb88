#include "report/escape.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Length in bytes of the UTF-8 character at @text, and what it is; 0 where there
 * is none: overlong forms, surrogates and numbers past U+10FFFF are no characters.
 * The NUL at the text's end is no continuation byte, so nothing is read past it.
 */
static size_t utf8_at(const unsigned char *text, uint32_t *ret)
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

/* Does it do something instead of being seen? */
static bool is_active(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||       /* C0, DEL, C1 */
	       (c >= 0x200e && c <= 0x200f) || c == 0x61c || /* direction marks */
	       (c >= 0x2028 && c <= 0x202e) ||               /* separators, embeddings, overrides */
	       (c >= 0x2066 && c <= 0x2069);                 /* isolates */
}

static void put_hex(struct strbuf *to, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		char hex[] = { '\\', 'x', digits[bytes[i] >> 4], digits[bytes[i] & 15] };

		strbuf_put(to, hex, sizeof(hex));
	}
}

void escape_put(struct strbuf *to, const char *text, bool is_folded)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		uint32_t c = 0;
		size_t n = utf8_at(at, &c);

		if (is_folded && (*at == ';' || *at == '\n'))
			strbuf_putc(to, '_');
		else if (n == 0 || is_active(c))
			put_hex(to, at, n ? n : 1);
		else
			strbuf_put(to, (const char *)at, n);
		at += n ? n : 1;
	}
}
