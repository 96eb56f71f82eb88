// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/gzip.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"

#define LEVEL 1
#define GZIP_WINDOW (15 + 16) /* 32 KiB; 16: with gzip's header */
#define MOST_MEMORY 9         /* of 9: 256 KiB */

struct gzip {
	z_stream stream;
	render_write *write;
	void *context;
	int result;
	size_t n_in; /* bytes that wait in @in */
	unsigned char in[65536];
	unsigned char out[65536];
};

struct gzip *gzip_new(render_write *write, void *context)
{
	struct gzip *g = xmalloc(sizeof(*g));

	g->stream = (z_stream){ .zalloc = zlib_allocate, .zfree = zlib_free };
	g->write = write;
	g->context = context;
	g->result = 0;
	g->n_in = 0;

	const int err = deflateInit2(&g->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MOST_MEMORY,
				     Z_DEFAULT_STRATEGY);

	assert(err == Z_OK);
	(void)err;
	return g;
}

void gzip_freep(struct gzip **g)
{
	if (*g)
		deflateEnd(&(*g)->stream);
	free(*g);
	*g = NULL;
}

/* Pack what waits. zlib fails only if its caller's calls are in the wrong order. */
static void pack_input(struct gzip *g, int flush)
{
	g->stream.next_in = g->in;
	g->stream.avail_in = (unsigned)g->n_in;
	g->n_in = 0;
	do {
		g->stream.next_out = g->out;
		g->stream.avail_out = sizeof(g->out);
		(void)deflate(&g->stream, flush);

		const size_t n = sizeof(g->out) - g->stream.avail_out;

		if (n && !g->result)
			g->result = g->write(g->context, (const char *)g->out, n);
	} while (g->stream.avail_out == 0 && !g->result);
}

int gzip_put(struct gzip *g, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;

	while (n && !g->result) {
		const size_t room = sizeof(g->in) - g->n_in, now = n < room ? n : room;

		memcpy(g->in + g->n_in, from, now);
		g->n_in += now;
		from += now;
		n -= now;
		if (g->n_in == sizeof(g->in))
			pack_input(g, Z_NO_FLUSH);
	}
	return g->result;
}

int gzip_finish(struct gzip *g)
{
	if (!g->result)
		pack_input(g, Z_FINISH);
	return g->result;
}

void gzip_unpack(const void *packed, size_t n, void *to, size_t n_to)
{
	z_stream stream = { .zalloc = zlib_allocate,
			    .zfree = zlib_free,
			    .next_in = (unsigned char *)packed,
			    .avail_in = (unsigned)n,
			    .next_out = to,
			    .avail_out = (unsigned)n_to };
	int err = inflateInit2(&stream, GZIP_WINDOW);

	if (err == Z_OK)
		err = inflate(&stream, Z_FINISH);
	assert(err == Z_STREAM_END && stream.avail_out == 0);
	(void)err;
	inflateEnd(&stream);
}
