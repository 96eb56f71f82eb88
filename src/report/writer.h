/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/writer.h - a buffer that turns many small writes into few large ones. */
#pragma once

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

void writer_put_u64(struct writer *w, uint64_t number);
void writer_put_i64(struct writer *w, int64_t number);

/* Write the buffered bytes. Returns 0, or the first non-zero result so far. */
int writer_flush(struct writer *w);

/* Likewise, after the last put. */
int writer_finish(struct writer *w);

#define cleanup_writer __attribute__((__cleanup__(writer_freep)))
