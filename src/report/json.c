#include "report/json.h"

#include "report/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The letter behind a '\' that stands for @c; 0: there is none. */
static char short_form(uint32_t c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\n':
		return 'n';
	case '\t':
		return 't';
	case '\r':
		return 'r';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	default:
		return '\0';
	}
}

void json_put_string(struct strbuf *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	strbuf_putc(to, '"');
	while (*at) {
		uint32_t c = 0;
		size_t n = utf8_at(at, &c);

		if (n == 0)
			strbuf_puts(to, REPLACEMENT);
		else if (short_form(c))
			strbuf_printf(to, "\\%c", short_form(c));
		else if (utf8_is_active(c)) /* all of them have four digits at most */
			strbuf_printf(to, "\\u%04x", (unsigned)c);
		else
			strbuf_put(to, (const char *)at, n);
		at += n ? n : 1;
	}
	strbuf_putc(to, '"');
}
