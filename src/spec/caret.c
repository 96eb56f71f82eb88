// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "spec/caret.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

/* A copy of @text with control characters as '?', so that it is one line. The caller frees it. */
static char *on_one_line(const char *text)
{
	char *line = xstrdup(text);

	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return line;
}

/* Put '^' below byte @at of @line. Only the first byte of a UTF-8 character takes a column. */
static void put_caret(struct strbuf *b, const char *line, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80)
			strbuf_putc(b, ' ');
	strbuf_putc(b, '^');
}

int caret_refuse(const char *text, const char *reason, struct error *e)
{
	cleanup_free char *line = on_one_line(text);

	return error_set(e, -EINVAL, "'%s': %s", line, reason);
}

int caret_add(const char *text, size_t at, struct error *e)
{
	cleanup_free char *line = on_one_line(text), *message = on_one_line(e->text);
	cleanup(strbuf_fini) struct strbuf b = {};
	int code = e->code;

	strbuf_printf(&b, "%s\n  %s\n  ", message, line);
	put_caret(&b, line, at);
	if (b.n >= sizeof(e->text))
		return code;
	code = error_set(e, code, "%s", b.text);
	e->has_lines = true;
	return code;
}

int caret_refuse_at(const char *text, size_t at, const char *reason, struct error *e)
{
	cleanup_free char *line = on_one_line(text);
	cleanup(strbuf_fini) struct strbuf b = {};

	strbuf_printf(&b, "'%s': %s\n  %s\n  ", line, reason, line);
	put_caret(&b, line, at);
	if (e && b.n >= sizeof(e->text))
		return caret_refuse(text, reason, e);
	return error_set(e, -EINVAL, "%s", b.text);
}
