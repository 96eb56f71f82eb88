/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/writer.h - text that is written in large pieces, numbers as text, and foreign text made
 * safe to show.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/render.h"

struct writer {
	render_write *write;
	void *context;
	struct strbuf text;    /* not written yet: renderers append to it */
	struct strbuf scratch; /* for a piece that is not put as it is */
	int result; /* the first non-zero result of @write, after which nothing is written */
};

void writer_fini(struct writer *w);

#define cleanup_writer __attribute__((__cleanup__(writer_fini)))

/* Write the text, which is empty then. Returns 0, or the first non-zero result. */
int writer_flush(struct writer *w);

#define WRITER_PIECE 65536

/* Call it after each stack: writes a long text. False: a write has failed, so end the loop. */
static inline bool writer_goes_on(struct writer *w)
{
	return (w->text.n < WRITER_PIECE ? w->result : writer_flush(w)) == 0;
}

/* Write @number in decimal before @end. Returns the first byte. */
static inline char *put_decimal(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

/* printf() takes most of the time of a form with many numbers. */
void put_u64(struct strbuf *to, uint64_t number);
void put_i64(struct strbuf *to, int64_t number);

/* --- columns, aligned to the right --- */

/* "  42", with @has_sign "  +42". @width: at most 30. Longer numbers are whole. */
void column_number(struct strbuf *to, size_t width, int64_t number, bool has_sign);

/* " 42.0%". Shares beyond any use are cut at 1e12 %. */
void column_share(struct strbuf *to, size_t width, double percent, bool has_sign);

/* --- amounts: a sum of values with its unit, for people --- */

/*
 * "4096 bytes", "1.500 ms", "8 sectors", "-11". Times have a unit that suits the size of the
 * largest one in the report. The number stands alone without a unit, for "count", and for a unit
 * that text_is_unit() refuses.
 */
void amount_put(struct strbuf *to, int64_t amount, const char *unit, uint64_t largest);

/* "ns" for "nanoseconds". Other units are short. */
const char *amount_short_unit(const char *unit);

/* --- foreign text --- */

/*
 * Append @text. Escapes everything that could drive a terminal or break a line:
 *
 *	control characters (C0, DEL, C1)   \x1b, \xc2\x9b: byte by byte
 *	line and paragraph separators,
 *	format characters (bidirectional
 *	marks, zero width)                 \xe2\x80\xae, \xef\xbb\xbf
 *	invalid UTF-8                      \xff
 *	a '\' before an 'x'                \x5c
 *
 * All other text stays. So "\x" and two digits always stand for a byte, and any other '\' stands
 * for itself (App\User, /a\.b/): a reader can recover the text. With @is_folded, ';' and newline
 * become '_', because they would end a frame or a line.
 */
void escape_put(struct strbuf *to, const char *text, bool is_folded);

/*
 * Append the name of a function, program or file, as escape_put() does. Our marks ("[unknown]",
 * "[cut: depth]") and functions without a symbol ("[libx.so+0x1200]") are in brackets. If the name
 * reads like one of these, its first '[' becomes \x5b.
 */
void escape_put_name(struct strbuf *to, const char *name, bool is_folded);

/*
 * Append a file's name that the caller puts in brackets, for a function without a symbol. Escapes
 * its own ']' and "+0x". Our marks in brackets begin with "unknown", "no stack", "vdso", "cut:" and
 * "unverified:". If the name does, too, its first byte is escaped.
 */
void escape_put_file(struct strbuf *to, const char *name, bool is_folded);

/*
 * Members of JSON objects: append @key, as it is, and @text as a string (nothing without one), or
 * @number. Names come from foreign files. Characters that could drive a terminal or break a line
 * become escapes (\u001b). Each byte that is no part of a valid UTF-8 character becomes the
 * replacement character U+FFFD, because JSON is UTF-8.
 */
void put_json_member(struct strbuf *to, const char *key, const char *text);
void member_u64(struct strbuf *to, const char *key, uint64_t number);
void member_i64(struct strbuf *to, const char *key, int64_t number);
