/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/strbuf.h - a string that grows. A zeroed struct is an empty one. */
#pragma once

#include <stddef.h>

struct strbuf {
	char *text; /* NUL-terminated once anything was put; NULL before */
	size_t n;
	size_t capacity;
};

void strbuf_fini(struct strbuf *b);
void strbuf_clear(struct strbuf *b);
void strbuf_put(struct strbuf *b, const char *text, size_t n);
void strbuf_puts(struct strbuf *b, const char *text);
void strbuf_putc(struct strbuf *b, char c);
__attribute__((format(printf, 2, 3))) void strbuf_printf(struct strbuf *b, const char *format, ...);

#define cleanup_strbuf __attribute__((__cleanup__(strbuf_fini)))
