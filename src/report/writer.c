// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/writer.h"

#include <stdlib.h>

#include "base/alloc.h"

struct writer *writer_new(render_write *write, void *context)
{
	struct writer *w = xmalloc(sizeof(*w));

	w->write = write;
	w->context = context;
	w->scratch = (struct strbuf){};
	w->result = 0;
	w->n = 0;
	return w;
}

void writer_freep(struct writer **w)
{
	if (*w)
		strbuf_fini(&(*w)->scratch);
	free(*w);
	*w = NULL;
}

static void flush_buffer(struct writer *w)
{
	if (w->n && !w->result)
		w->result = w->write(w->context, w->bytes, w->n);
	w->n = 0;
}

void writer_put_rest(struct writer *w, const char *bytes, size_t n)
{
	flush_buffer(w);
	if (w->result)
		return;
	if (n > sizeof(w->bytes)) {
		w->result = w->write(w->context, bytes, n);
		return;
	}
	memcpy(w->bytes, bytes, n);
	w->n = n;
}

void writer_put_u64(struct writer *w, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	writer_put(w, digits + at, sizeof(digits) - at);
}

void writer_put_i64(struct writer *w, int64_t number)
{
	if (number < 0)
		writer_put(w, "-", 1);
	writer_put_u64(w, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

int writer_flush(struct writer *w)
{
	flush_buffer(w);
	return w->result;
}

int writer_finish(struct writer *w)
{
	return writer_flush(w);
}
