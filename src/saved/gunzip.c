// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "saved/gunzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define WINDOW (15 + 16) /* 32 KiB; 16: gzip's header, too */
#define PIECE (1U << 20)

bool gunzip_is_packed(const void *bytes, size_t n)
{
	const unsigned char *magic = bytes;

	return n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

static void end_stream(z_stream *stream)
{
	inflateEnd(stream);
}

/* A file may have several parts, each packed by itself. Padding of zeros may follow. */
static bool is_gunzip_over(const z_stream *stream)
{
	for (size_t i = 0; i < stream->avail_in; i++)
		if (stream->next_in[i])
			return false;
	return true;
}

int gunzip(const void *bytes, size_t n, size_t most, const char *name, struct strbuf *to,
	   struct error *e)
{
	cleanup(end_stream) z_stream stream = {};
	cleanup_free unsigned char *piece = xmalloc(PIECE);

	if (n > UINT32_MAX)
		return error_set(e, -E2BIG, "%s: larger than 4 GiB", name);
	stream.next_in = (unsigned char *)bytes;
	stream.avail_in = (unsigned)n;
	if (inflateInit2(&stream, WINDOW) != Z_OK)
		return error_set(e, -EINVAL, "%s: zlib refuses to unpack it", name);
	for (;;) {
		stream.next_out = piece;
		stream.avail_out = PIECE;

		const int result = inflate(&stream, Z_NO_FLUSH);

		if (to->n + (PIECE - stream.avail_out) > most)
			return error_set(e, -E2BIG, "%s: unpacks to more than %zu MiB", name,
					 most >> 20);
		strbuf_put(to, (const char *)piece, PIECE - stream.avail_out);
		if (result == Z_STREAM_END) {
			if (is_gunzip_over(&stream))
				return 0;
			inflateReset(&stream);
		} else if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_out)) {
			return error_set(e, -EBADMSG, "%s: ends within packed data", name);
		} else if (result != Z_OK) {
			return error_set(e, -EBADMSG, "%s: packed data is damaged (%s)", name,
					 stream.msg ? stream.msg : "gzip");
		}
	}
}
