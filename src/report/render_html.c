// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An interactive page in one file, which needs no network. src/report/page has its script and
 * style; doc/page.md says what it does. Its data are the file that render_pprof() makes, in base64:
 *
 *	<script type="application/octet-stream;base64" id="profile-data">H4sIAAAA...</script>
 *
 * A difference with claims has a second element, "profile-changes": see changes_put_json(). With
 * --invert, there is an empty element "inverted". No other place has text of the profile, so no
 * name can end an element or begin a script. profile/saved.c reads the data back.
 */
#include <stdint.h>

#include "page.h" /* made by scripts/page */
#include "profile/changes.h"
#include "report/render.h"
#include "report/writer.h"

#define MOST_CHANGES 1000

/* Base64 (RFC 4648) of bytes that come in pieces of any size. */
struct base64 {
	struct writer *w;
	unsigned char rest[3];
	size_t n_rest; /* less than 3 */
};

/* The four digits of three bytes. */
static char *encode_three_bytes(char *to, const unsigned char *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];

	*to++ = digits[bits >> 18];
	*to++ = digits[bits >> 12 & 63];
	*to++ = digits[bits >> 6 & 63];
	*to++ = digits[bits & 63];
	return to;
}

static int encode_base64(void *context, const char *bytes, size_t n)
{
	struct base64 *b = context;
	const unsigned char *at = (const unsigned char *)bytes, *end = at + n;
	char digits[4096];

	while (at < end) {
		char *to = digits;

		while (at < end && b->n_rest > 0 && b->n_rest < 3)
			b->rest[b->n_rest++] = *at++;
		if (b->n_rest == 3) {
			to = encode_three_bytes(to, b->rest);
			b->n_rest = 0;
		}
		for (; end - at >= 3 && to + 4 <= digits + sizeof(digits); at += 3)
			to = encode_three_bytes(to, at);
		if (b->n_rest == 0 && end - at < 3)
			while (at < end)
				b->rest[b->n_rest++] = *at++;
		writer_put(b->w, digits, (size_t)(to - digits));
	}
	return b->w->result;
}

static void end_base64(struct base64 *b)
{
	char digits[4];

	if (b->n_rest == 0)
		return;
	for (size_t i = b->n_rest; i < 3; i++)
		b->rest[i] = 0;
	encode_three_bytes(digits, b->rest);
	writer_put(b->w, digits, b->n_rest + 1);
	writer_put(b->w, "==", 3 - b->n_rest);
}

/* An element between the data and its end tag, which page_tail begins with. */
static void put_changes(struct writer *w, const struct changes *changes)
{
	strbuf_clear(&w->scratch);
	changes_put_json(&w->scratch, changes, MOST_CHANGES);
	writer_puts(w, "</script>\n<script type=\"application/json\" id=\"profile-changes\">");
	writer_put(w, w->scratch.text, w->scratch.n);
}

int render_html(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer *w = writer_new(write, context);
	struct base64 data = { .w = w };

	writer_put(w, (const char *)page_head, sizeof(page_head));

	const int err = render_pprof(p, style, encode_base64, &data);

	if (err)
		return err;
	end_base64(&data);
	if (style->changes && style->changes->n_after)
		put_changes(w, style->changes);
	if (style->invert)
		writer_puts(w, "</script>\n<script type=\"text/plain\" id=\"inverted\">");
	writer_put_rest(w, (const char *)page_tail, sizeof(page_tail));
	return writer_finish(w);
}
