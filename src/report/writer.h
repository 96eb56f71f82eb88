/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/writer.h - a buffer that turns many small writes into few large ones, and numbers as text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "report/render.h"

struct writer {
	render_write *write;
	void *context;
	struct strbuf scratch; /* for callers that compose a piece before they put it */
	int result; /* the first non-zero result of @write, after which nothing is written */
	size_t n;
	char bytes[65536];
};

/* On the heap, because it is large for a stack frame. Keeps @context. */
struct writer *writer_new(render_write *write, void *context);
void writer_freep(struct writer **w);

/* For writer_put(), when the buffer is full, and for bytes that are more than the buffer holds. */
void writer_put_rest(struct writer *w, const char *bytes, size_t n);

static inline void writer_put(struct writer *w, const char *bytes, size_t n)
{
	if (n > sizeof(w->bytes) - w->n || w->result) {
		writer_put_rest(w, bytes, n);
		return;
	}
	memcpy(w->bytes + w->n, bytes, n);
	w->n += n;
}

static inline void writer_puts(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

/* The scratch buffer, empty. */
static inline struct strbuf *writer_scratch(struct writer *w)
{
	strbuf_clear(&w->scratch);
	return &w->scratch;
}

static inline void writer_put_scratch(struct writer *w)
{
	if (w->scratch.n)
		writer_put(w, w->scratch.text, w->scratch.n);
}

/* Write @number in decimal before @end. Returns the first byte. */
static inline char *put_decimal(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

void writer_put_u64(struct writer *w, uint64_t number);
void writer_put_i64(struct writer *w, int64_t number);

/* Write the buffered bytes, also after the last put. Returns 0, or the first non-zero result. */
int writer_flush(struct writer *w);

#define cleanup_writer __attribute__((__cleanup__(writer_freep)))

/* --- columns --- */

/*
 * Numbers in columns, aligned to the right. printf() takes most of the time of a tree with many
 * nodes. Each returns the number of bytes without the NUL.
 */
#define COLUMN_SIZE 40 /* room for any of these, with its NUL */

/* "  42", with @has_sign "  +42". @width: at most 30. Longer numbers are whole. */
size_t column_number(char *to, size_t width, int64_t number, bool has_sign);

/* " 42.0%". Shares beyond any use are cut at 1e12 %. */
size_t column_share(char *to, size_t width, double percent, bool has_sign);

/* --- amounts: a sum of values with its unit, for people --- */

#define AMOUNT_SIZE 64

/*
 * "4096 bytes", "1.500 ms", "8 sectors", "-11". Times have a unit that suits the size of the
 * largest one in the report. The number stands alone without a unit, for "count", and for a unit
 * that text_is_unit() refuses. Returns the bytes without the NUL.
 */
size_t amount_put(char to[AMOUNT_SIZE], int64_t amount, const char *unit, uint64_t largest);

/* "ns" for "nanoseconds". Other units are short. */
const char *amount_short_unit(const char *unit);
