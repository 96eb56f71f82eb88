// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "profile/saved.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "profile/pprof.h"

/* --- gzip (RFC 1952) --- */

#define WINDOW (15 + 16) /* 32 KiB; 16: gzip's header, too */
#define PIECE (1U << 20)

static bool is_packed(const void *bytes, size_t n)
{
	const unsigned char *magic = bytes;

	return n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

static void end_stream(z_stream *stream)
{
	inflateEnd(stream);
}

/*
 * Unpack the @n @bytes of file @name, and append the result, at most @most bytes. A file may have
 * several parts, each packed by itself.
 */
static int gunzip(const void *bytes, size_t n, size_t most, const char *name, struct strbuf *to,
		  struct error *e)
{
	cleanup(end_stream) z_stream stream = {};
	cleanup_free unsigned char *piece = xmalloc(PIECE);

	stream.next_in = (unsigned char *)bytes;
	stream.avail_in = (unsigned)n; /* MOST_FILE_BYTES at most */
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
			if (!stream.avail_in)
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

/* --- bounds --- */

/* 200,000 stacks take 2 MiB packed, and 10 MiB unpacked. */
#define MOST_FILE_BYTES ((size_t)256 << 20)
#define MOST_UNPACKED_BYTES ((size_t)512 << 20)

/*
 * gzip makes any number of equal bytes 1,000 times smaller, and profiles 3 to 10 times. A file that
 * unpacks to 1 GiB of the smallest samples took 13 s.
 */
#define ALWAYS_UNPACKED_BYTES ((size_t)64 << 20)
#define MOST_RATIO 100

/* --- what is no profile --- */

#define LOOK_BYTES 4096

/* Has it no control characters but those of text? */
static bool is_text(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n && i < LOOK_BYTES; i++)
		if ((uint8_t)bytes[i] < ' ' && (!bytes[i] || !strchr("\t\n\r\f\033", bytes[i])))
			return false;
	return true;
}

/* The pprof reader goes first: what it takes is a profile, whatever it looks like. */
static int read_unpacked(const void *bytes, size_t n, const char *name, struct profile **ret,
			 struct error *e)
{
	const int err = pprof_read(bytes, n, name, ret, e);

	if ((err != -EBADMSG && err != -ENOEXEC) || !is_text(bytes, n))
		return err;
	return error_set(e, -ENOEXEC,
			 "%s: no pprof file: it seems to be text; pprof files and stackcount's "
			 "pages can be read (-o FILE.pb.gz, -o FILE.html)",
			 name);
}

static int read_packed(const void *bytes, size_t n, const char *name, struct profile **ret,
		       struct error *e)
{
	cleanup_strbuf struct strbuf unpacked = {};
	size_t most = n * MOST_RATIO;
	int err;

	if (most < ALWAYS_UNPACKED_BYTES)
		most = ALWAYS_UNPACKED_BYTES;
	err = gunzip(bytes, n, most < MOST_UNPACKED_BYTES ? most : MOST_UNPACKED_BYTES, name,
		     &unpacked, e);
	return err ? err : read_unpacked(unpacked.text, unpacked.n, name, ret, e);
}

/* --- the data of a page (report/render_html.c) --- */

/* What is no base64 is no gzip either, so its end is not checked. */
static bool decode_base64(const char *at, const char *end, struct strbuf *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	unsigned n_bits = 0;

	for (; at < end && *at != '='; at++) {
		const char *digit = *at ? strchr(digits, *at) : NULL;

		if (!digit && !strchr(" \t\r\n", *at))
			return false;
		if (!digit)
			continue;
		bits = bits << 6 | (uint32_t)(digit - digits);
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		strbuf_putc(to, (char)(bits >> n_bits));
	}
	return true;
}

static int read_page(const char *data, const char *end, const char *name, struct profile **ret,
		     struct error *e)
{
	cleanup_strbuf struct strbuf packed = {};
	const char *stop = memchr(data, '<', (size_t)(end - data));

	if (!stop)
		return error_set(e, -EBADMSG, "%s: ends within its profile", name);
	if (!decode_base64(data, stop, &packed))
		return error_set(e, -EBADMSG, "%s: its profile is no base64", name);
	if (!is_packed(packed.text, packed.n))
		return error_set(e, -EBADMSG, "%s: its profile is not packed by gzip", name);
	return read_packed(packed.text, packed.n, name, ret, e);
}

int saved_read_bytes(const void *bytes, size_t n, const char *name, struct profile **ret,
		     struct error *e)
{
	static const char element[] =
		"<script type=\"application/octet-stream;base64\" id=\"profile-data\">";
	const char *begin = bytes, *page;

	if (n == 0)
		return error_set(e, -ENOEXEC, "%s: empty", name);
	if (is_packed(bytes, n))
		return read_packed(bytes, n, name, ret, e);
	page = *begin == '<' ? memmem(begin, n, element, sizeof(element) - 1) : NULL;
	if (page)
		return read_page(page + sizeof(element) - 1, begin + n, name, ret, e);
	return read_unpacked(bytes, n, name, ret, e);
}

static int read_whole_file(int fd, const char *name, struct strbuf *to, struct error *e)
{
	cleanup_free char *piece = xmalloc(65536);
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return error_set(e, -EISDIR, "%s: is a directory", name);
	for (;;) {
		const ssize_t n = read(fd, piece, 65536);

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(e, "read %s", name);
		if (to->n + (size_t)n > MOST_FILE_BYTES)
			return error_set(e, -E2BIG, "%s: larger than %zu MiB", name,
					 MOST_FILE_BYTES >> 20);
		strbuf_put(to, piece, (size_t)n);
	}
}

int saved_read(int fd, const char *name, struct profile **ret, struct error *e)
{
	cleanup_strbuf struct strbuf bytes = {};
	const int err = read_whole_file(fd, name, &bytes, e);

	return err ? err : saved_read_bytes(bytes.text, bytes.n, name, ret, e);
}
