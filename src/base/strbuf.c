// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void strbuf_fini(struct strbuf *b)
{
	free(b->text);
	*b = (struct strbuf){};
}

void strbuf_clear(struct strbuf *b)
{
	b->n = 0;
	if (b->text)
		b->text[0] = '\0';
}

static void reserve_bytes(struct strbuf *b, size_t more)
{
	size_t need = b->n + more + 1;

	if (need <= b->capacity)
		return;
	b->capacity = need < 64 ? 64 : need + need / 2;
	b->text = xreallocarray(b->text, b->capacity, 1);
}

void strbuf_put(struct strbuf *b, const char *text, size_t n)
{
	reserve_bytes(b, n);
	memcpy(b->text + b->n, text, n);
	b->n += n;
	b->text[b->n] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *text)
{
	strbuf_put(b, text, strlen(text));
}

void strbuf_putc(struct strbuf *b, char c)
{
	strbuf_put(b, &c, 1);
}

void strbuf_printf(struct strbuf *b, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);

	int n = vsnprintf(NULL, 0, format, args);

	va_end(args);
	if (n > 0) {
		reserve_bytes(b, n);
		(void)vsnprintf(b->text + b->n, n + 1, format, again);
		b->n += n;
	}
	va_end(again);
}
