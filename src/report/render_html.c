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

/* Base64 (RFC 4648). The bytes come in one piece (render_pprof()). */
static int put_base64(void *writer, const char *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	struct writer *w = writer;

	for (size_t i = 0; i < n && writer_goes_on(w); i += 3) {
		uint32_t bits = 0;
		char four[4];

		for (size_t k = i; k < i + 3; k++)
			bits = bits << 8 | (k < n ? (uint8_t)bytes[k] : 0U);
		for (size_t k = 0; k < 4; k++)
			four[k] = digits[i + k > n ? 64 : bits >> (18 - 6 * k) & 63];
		strbuf_put(&w->text, four, sizeof(four));
	}
	return w->result;
}

int render_html(const struct profile *p, const struct render_style *style, render_write *write,
		void *context)
{
	cleanup_writer struct writer w = { .write = write, .context = context };
	int err;

	strbuf_put(&w.text, (const char *)page_head, sizeof(page_head));
	err = render_pprof(p, style, put_base64, &w);
	if (err)
		return err;
	/* Elements between the data and its end tag, which page_tail begins with. */
	if (style->changes && style->changes->n_after) {
		strbuf_puts(&w.text,
			    "</script>\n<script type=\"application/json\" id=\"profile-changes\">");
		changes_put_json(&w, style->changes, MOST_CHANGES);
	}
	if (style->invert)
		strbuf_puts(&w.text, "</script>\n<script type=\"text/plain\" id=\"inverted\">");
	strbuf_put(&w.text, (const char *)page_tail, sizeof(page_tail));
	return writer_flush(&w);
}
