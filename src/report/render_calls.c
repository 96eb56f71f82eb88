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

static void put_call_row(struct strbuf *to, const char *name, uint64_t count)
{
	const size_t begin = to->n;
	size_t n_columns = 0; /* each character of UTF-8 takes one */

	escape_put(to, name, false);
	for (size_t i = begin; i < to->n; i++)
		n_columns += (to->text[i] & 0xc0) != 0x80;
	for (; n_columns < NAME_COLUMNS; n_columns++)
		strbuf_putc(to, ' ');
	strbuf_printf(to, " %*" PRIu64 "\n", COUNT_COLUMNS, count);
}

int render_calls_text(const struct call_report *r, render_write *write, void *context)
{
	cleanup_writer struct writer w = { .write = write, .context = context };

	strbuf_printf(&w.text, "\n%s%s%-*s %*s\n", r->time ? r->time : "", r->time ? "\n" : "",
		      NAME_COLUMNS, "FUNC", COUNT_COLUMNS, "COUNT");
	for (size_t i = 0; i < r->n && writer_goes_on(&w); i++)
		put_call_row(&w.text, r->rows[i].name, r->rows[i].count);
	if (r->has_total)
		put_call_row(&w.text, "TOTAL", r->total);
	render_losses(r->losses, r->n_losses, r->total, &w.text);
	return writer_flush(&w);
}

int render_calls_json(const struct call_report *r, render_write *write, void *context)
{
	cleanup_writer struct writer w = { .write = write, .context = context };
	struct strbuf *to = &w.text;
	const uint64_t second = 1000000000;
	const char *comma = "";

	strbuf_printf(to, "{\"time\":%" PRIu64 ".%09" PRIu64 ",\"counts\":[", r->time_ns / second,
		      r->time_ns % second);
	for (size_t i = 0; i < r->n && writer_goes_on(&w); i++) {
		put_json_member(to, i ? "},{\"function\":" : "{\"function\":", r->rows[i].name);
		member_u64(to, ",\"count\":", r->rows[i].count);
	}
	member_u64(to, r->n ? "}],\"total\":" : "],\"total\":", r->total);
	strbuf_puts(to, ",\"lost\":{");
	for (size_t i = 0; i < r->n_losses; i++) {
		if (!r->losses[i].n)
			continue;
		put_json_member(to, comma, r->losses[i].reason);
		member_u64(to, ":", r->losses[i].n);
		comma = ",";
	}
	strbuf_puts(to, "}}\n");
	return writer_flush(&w);
}
