/* report/writer.h - many small pieces in, few large ones out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/render.h"

struct writer {
	render_write *write;
	void *context;
	struct strbuf scratch; /* for who puts something together */
	int result;            /* the first that was not zero; then nothing more is written */
	size_t n;
	char bytes[65536];
};

/* On the heap: it is large for a stack frame. */
struct writer *writer_new(render_write *write, void *context);
void writer_freep(struct writer **w);

void writer_put(struct writer *w, const char *bytes, size_t n);
void writer_puts(struct writer *w, const char *text);
void writer_put_u64(struct writer *w, uint64_t number);

/* Write what is there now; the result so far. */
int writer_flush(struct writer *w);

/* Write what is left; the result of it all. */
int writer_finish(struct writer *w);

#define cleanup_writer __attribute__((__cleanup__(writer_freep)))
