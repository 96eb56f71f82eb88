// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/gzip.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "report/deflate.h"

struct gzip {
	render_write *write;
	void *context;
	int result;
	struct deflate *deflate;
	unsigned long sum; /* of all bytes: CRC-32 */
	uint32_t n_all;    /* modulo 2^32 */
	size_t n_in;       /* bytes that wait in @in */
	uint8_t in[DEFLATE_MOST_IN];
	uint8_t out[DEFLATE_MOST_OUT];
};

static void put_packed(struct gzip *g, const uint8_t *bytes, size_t n)
{
	if (n && !g->result)
		g->result = g->write(g->context, (const char *)bytes, n);
}

struct gzip *gzip_new(render_write *write, void *context)
{
	static const uint8_t head[] = { 0x1f, 0x8b, 8 /* DEFLATE */, 0, 0, 0, 0, 0, 0, 255 };
	struct gzip *g = xmalloc(sizeof(*g));

	g->write = write;
	g->context = context;
	g->result = 0;
	g->deflate = deflate_new();
	g->sum = crc32(0, NULL, 0);
	g->n_all = 0;
	g->n_in = 0;
	put_packed(g, head, sizeof(head));
	return g;
}

void gzip_freep(struct gzip **g)
{
	if (*g)
		deflate_free((*g)->deflate);
	free(*g);
	*g = NULL;
}

static void pack_input(struct gzip *g, bool is_last)
{
	g->sum = crc32(g->sum, g->in, (unsigned)g->n_in);
	g->n_all += (uint32_t)g->n_in;
	put_packed(g, g->out, deflate_block(g->deflate, g->in, g->n_in, is_last, g->out));
	g->n_in = 0;
}

int gzip_put(struct gzip *g, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n && !g->result) {
		const size_t room = sizeof(g->in) - g->n_in, now = n < room ? n : room;

		memcpy(g->in + g->n_in, from, now);
		g->n_in += now;
		from += now;
		n -= now;
		if (g->n_in == sizeof(g->in))
			pack_input(g, false);
	}
	return g->result;
}

int gzip_finish(struct gzip *g)
{
	uint8_t tail[8];

	if (g->result)
		return g->result;
	pack_input(g, true);
	for (unsigned i = 0; i < 4; i++) {
		tail[i] = (uint8_t)(g->sum >> 8 * i);
		tail[4 + i] = (uint8_t)(g->n_all >> 8 * i);
	}
	put_packed(g, tail, sizeof(tail));
	return g->result;
}

static void *allocate(void *unused, unsigned n, unsigned size)
{
	(void)unused;
	return xcalloc(n, size);
}

static void release(void *unused, void *p)
{
	(void)unused;
	free(p);
}

void gzip_unpack(const void *packed, size_t n, void *to, size_t n_to)
{
	z_stream stream = { .zalloc = allocate,
			    .zfree = release,
			    .next_in = (unsigned char *)packed,
			    .avail_in = (unsigned)n,
			    .next_out = to,
			    .avail_out = (unsigned)n_to };
	int err = inflateInit2(&stream, 15 + 16 /* 32 KiB, with gzip's header */);

	if (err == Z_OK)
		err = inflate(&stream, Z_FINISH);
	assert(err == Z_STREAM_END && stream.avail_out == 0);
	(void)err;
	inflateEnd(&stream);
}
