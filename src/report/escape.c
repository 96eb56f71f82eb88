#include "report/escape.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "report/utf8.h"

static void put_hex(struct strbuf *to, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		char hex[] = { '\\', 'x', digits[bytes[i] >> 4], digits[bytes[i] & 15] };

		strbuf_put(to, hex, sizeof(hex));
	}
}

/* What begins like an escape but is the text's own. */
static bool is_like_escape(const unsigned char *at)
{
	return at[0] == '\\' && at[1] == 'x';
}

void escape_put(struct strbuf *to, const char *text, bool is_folded)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		uint32_t c = 0;
		size_t n = utf8_at(at, &c);

		if (is_folded && (*at == ';' || *at == '\n'))
			strbuf_putc(to, '_');
		else if (n == 0 || utf8_is_active(c) || is_like_escape(at))
			put_hex(to, at, n ? n : 1);
		else
			strbuf_put(to, (const char *)at, n);
		at += n ? n : 1;
	}
}

static bool is_like_mark(const char *name)
{
	static const char *const marks[] = { "[unknown]", "[cut: ", "[no stack]" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strncmp(name, marks[i], strlen(marks[i])) == 0)
			return true;
	return false;
}

void escape_put_name(struct strbuf *to, const char *name, bool is_folded)
{
	if (is_like_mark(name)) {
		put_hex(to, (const unsigned char *)name, 1);
		name++;
	}
	escape_put(to, name, is_folded);
}
