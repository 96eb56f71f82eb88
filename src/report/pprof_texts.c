// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/pprof_texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "profile/pprof.h"

void pprof_texts_init(struct pprof_texts *t)
{
	*t = (struct pprof_texts){ .made = strtab_new() };
	(void)pprof_text(t, "");
}

void pprof_texts_fini(struct pprof_texts *t)
{
	free(t->texts);
	u64_map_fini(&t->numbers);
	u64_map_fini(&t->by_address);
	strtab_free(t->made);
	*t = (struct pprof_texts){};
}

static uint32_t number_of_text(struct pprof_texts *t, const char *text)
{
	for (uint64_t hash = hash_bytes(text, strlen(text));; hash++) {
		bool is_new;
		const uint32_t number = *u64_map_put(&t->numbers, hash, (uint32_t)t->n, &is_new);

		if (is_new)
			array_push(t->texts, t->n, t->capacity, text);
		if (is_new || strcmp(t->texts[number], text) == 0)
			return number;
	}
}

uint64_t pprof_text(struct pprof_texts *t, const char *text)
{
	bool is_new;

	if (!text)
		return 0;

	uint32_t *number = u64_map_put(&t->by_address, (uintptr_t)text, 0, &is_new);

	if (is_new)
		*number = number_of_text(t, text);
	return *number;
}

uint64_t pprof_text_made(struct pprof_texts *t, const char *format, ...)
{
	char *made;
	va_list args;

	va_start(args, format);
	if (vasprintf(&made, format, args) < 0)
		made = xstrdup("");
	va_end(args);

	const uint64_t number = pprof_text(t, strtab_add(t->made, made));

	free(made);
	return number;
}

static bool is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		uint32_t c;
		const size_t n = *at < 0x80 ? 1 : utf8_at(at, &c);

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

static void put_as_utf8(struct strbuf *to, const char *text)
{
	for (size_t n; *text; text += n) {
		uint32_t c;

		n = utf8_at((const unsigned char *)text, &c);
		if (n) {
			strbuf_put(to, text, n);
		} else {
			strbuf_printf(to, "\\x%02x", (unsigned char)*text);
			n = 1;
		}
	}
}

void pprof_texts_put(const struct pprof_texts *t, struct proto *to)
{
	cleanup_strbuf struct strbuf valid = {};

	for (size_t i = 0; i < t->n; i++) {
		const char *text = t->texts[i];

		if (!is_utf8(text)) {
			strbuf_clear(&valid);
			put_as_utf8(&valid, text);
			text = valid.text;
		}
		proto_bytes(to, PPROF_STRING, text, strlen(text));
	}
}
