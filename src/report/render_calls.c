// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Text has the layout of bcc's funccount. An empty line and the time, then
 *
 *	FUNC                                    COUNT
 *	vfs_open                                   12
 *	vfs_read                                 4711
 *	TOTAL                                    4723     with -v
 *
 * A name that is longer than its column is whole, and moves the count to the right.
 *
 * JSON has one line for a report (here broken in two):
 *
 *	{"time":1771000000.123456789,"counts":[{"function":"vfs_open","count":12}],
 *	 "total":12,"lost":{"missed by the kernel at the probe":1}}
 */
#include "report/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/render_calls.h"
#include "report/writer.h"

#define NAME_COLUMNS 36
#define COUNT_COLUMNS 8

static int compare_call_rows(const void *left, const void *right)
{
	const struct call_row *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return strcmp(a->name, b->name);
}

size_t call_rows_choose(struct call_row *rows, size_t n, uint64_t min, uint64_t top)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].count && rows[i].count >= min)
			rows[kept++] = rows[i];
	qsort(rows, kept, sizeof(*rows), compare_call_rows);
	if (!top || kept <= top)
		return kept;
	memmove(rows, rows + kept - top, (size_t)top * sizeof(*rows));
	return (size_t)top;
}

/* The width of UTF-8 text, if each character takes one column. */
static size_t n_columns(const struct strbuf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->n; i++)
		n += (text->text[i] & 0xc0) != 0x80;
	return n;
}

static void put_call_row(struct writer *w, const char *name, const char *count)
{
	cleanup_strbuf struct strbuf line = {};

	escape_put(&line, name, false);
	for (size_t n = n_columns(&line); n < NAME_COLUMNS; n++)
		strbuf_putc(&line, ' ');
	strbuf_printf(&line, " %*s\n", COUNT_COLUMNS, count);
	writer_put(w, line.text, line.n);
}

static void put_call_count(struct writer *w, const char *name, uint64_t count)
{
	char digits[32];

	(void)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	put_call_row(w, name, digits);
}

int render_calls_text(const struct call_report *r, render_write *write, void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);

	writer_puts(w, "\n");
	if (r->time) {
		writer_puts(w, r->time);
		writer_puts(w, "\n");
	}
	put_call_row(w, "FUNC", "COUNT");
	for (size_t i = 0; i < r->n && !w->result; i++)
		put_call_count(w, r->rows[i].name, r->rows[i].count);
	if (r->has_total)
		put_call_count(w, "TOTAL", r->total);
	return writer_finish(w);
}

static void put_json_row(struct writer *w, const struct call_row *row, bool is_first)
{
	cleanup_strbuf struct strbuf text = {};

	strbuf_puts(&text, is_first ? "{\"function\":" : ",{\"function\":");
	json_put_string(&text, row->name);
	strbuf_printf(&text, ",\"count\":%" PRIu64 "}", row->count);
	writer_put(w, text.text, text.n);
}

static void put_json_losses(struct writer *w, const struct call_report *r)
{
	cleanup_strbuf struct strbuf text = {};
	const char *comma = "";

	strbuf_puts(&text, "\"lost\":{");
	for (size_t i = 0; i < r->n_losses; i++) {
		if (!r->losses[i].n)
			continue;
		strbuf_puts(&text, comma);
		json_put_string(&text, r->losses[i].reason);
		strbuf_printf(&text, ":%" PRIu64, r->losses[i].n);
		comma = ",";
	}
	strbuf_puts(&text, "}}\n");
	writer_put(w, text.text, text.n);
}

int render_calls_json(const struct call_report *r, render_write *write, void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	const uint64_t second = 1000000000;
	char head[64];

	(void)snprintf(head, sizeof(head), "{\"time\":%" PRIu64 ".%09" PRIu64 ",\"counts\":[",
		       r->time_ns / second, r->time_ns % second);
	writer_puts(w, head);
	for (size_t i = 0; i < r->n && !w->result; i++)
		put_json_row(w, &r->rows[i], i == 0);
	writer_puts(w, "],\"total\":");
	writer_put_u64(w, r->total);
	writer_puts(w, ",");
	put_json_losses(w, r);
	return writer_finish(w);
}
