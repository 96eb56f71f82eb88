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
#include "report/render_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/escape.h"
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

static void put_call_row(struct writer *w, const char *name, uint64_t count)
{
	struct strbuf *line = writer_scratch(w);
	size_t n_columns = 0; /* each character of UTF-8 takes one */

	escape_put(line, name, false);
	for (size_t i = 0; i < line->n; i++)
		n_columns += (line->text[i] & 0xc0) != 0x80;
	for (; n_columns < NAME_COLUMNS; n_columns++)
		strbuf_putc(line, ' ');
	strbuf_printf(line, " %*" PRIu64 "\n", COUNT_COLUMNS, count);
	writer_put_scratch(w);
}

int render_calls_text(const struct call_report *r, render_write *write, void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);

	strbuf_printf(writer_scratch(w), "\n%s%s%-*s %*s\n", r->time ? r->time : "",
		      r->time ? "\n" : "", NAME_COLUMNS, "FUNC", COUNT_COLUMNS, "COUNT");
	writer_put_scratch(w);
	for (size_t i = 0; i < r->n && !w->result; i++)
		put_call_row(w, r->rows[i].name, r->rows[i].count);
	if (r->has_total)
		put_call_row(w, "TOTAL", r->total);
	render_losses(r->losses, r->n_losses, r->total, writer_scratch(w));
	writer_put_scratch(w);
	return writer_flush(w);
}

/* A name or a reason, with its number. */
static void put_json_count(struct writer *w, const char *before, const char *name,
			   const char *between, uint64_t count)
{
	writer_puts(w, before);
	json_put_string(writer_scratch(w), name);
	writer_put_scratch(w);
	writer_puts(w, between);
	writer_put_u64(w, count);
}

int render_calls_json(const struct call_report *r, render_write *write, void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	const uint64_t second = 1000000000;
	const char *comma = "";

	strbuf_printf(writer_scratch(w), "{\"time\":%" PRIu64 ".%09" PRIu64 ",\"counts\":[",
		      r->time_ns / second, r->time_ns % second);
	writer_put_scratch(w);
	for (size_t i = 0; i < r->n && !w->result; i++)
		put_json_count(w, i ? "},{\"function\":" : "{\"function\":", r->rows[i].name,
			       ",\"count\":", r->rows[i].count);
	writer_puts(w, r->n ? "}],\"total\":" : "],\"total\":");
	writer_put_u64(w, r->total);
	writer_puts(w, ",\"lost\":{");
	for (size_t i = 0; i < r->n_losses; i++) {
		if (!r->losses[i].n)
			continue;
		put_json_count(w, comma, r->losses[i].reason, ":", r->losses[i].n);
		comma = ",";
	}
	writer_puts(w, "}}\n");
	return writer_flush(w);
}
