// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as a file of unknown kind: packed, a page of ours, or neither. They are a profile, or
 * are refused with a reason that names the file. The first bytes that a page holds are those that
 * its base64 stands for.
 */
#include "fuzz.h"

#include "base/strbuf.h"
#include "saved/page.h"
#include "saved/saved.h"

static void put_base64(struct strbuf *to, const uint8_t *data, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < n ? data[i + k] : 0U);
		for (size_t k = 0; k < 4; k++)
			strbuf_putc(to, i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63]);
	}
}

static void check_page(const uint8_t *data, size_t size)
{
	struct strbuf page = {}, found = {};
	struct error e = {};

	strbuf_puts(&page, "<html><script type=\"application/octet-stream;base64\" "
			   "id=\"profile-data\">");
	put_base64(&page, data, size);
	strbuf_puts(&page, "</script>");
	require(page_is_page(page.text, page.n));
	require(page_data(page.text, page.n, "page", &found, &e) == 0);
	require(found.n == size && (size == 0 || memcmp(found.text, data, size) == 0));
	strbuf_fini(&page);
	strbuf_fini(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = NULL;
	struct error e = {};

	if (saved_read_bytes(data, size, "file", &p, &e))
		require(!p && strncmp(e.text, "file: ", 6) == 0);
	else
		require(p != NULL);
	profile_free(p);
	check_page(data, size);
	return 0;
}
