// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as a file of unknown kind: packed, a page of ours, or neither. They are a profile, or
 * are refused with a reason that names the file. A page with packed bytes is read as they are.
 */
#include "fuzz.h"

#include "base/strbuf.h"
#include "profile/saved.h"

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

static int read_profile(const void *bytes, size_t n)
{
	struct profile *p = NULL;
	struct error e = {};
	const int err = saved_read_bytes(bytes, n, "file", &p, &e);

	require(err ? !p && strncmp(e.text, "file: ", 6) == 0 : p != NULL);
	profile_free(p);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int err = read_profile(data, size);
	const bool is_packed = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
	struct strbuf page = {};

	strbuf_puts(&page, "<html><script type=\"application/octet-stream;base64\" "
			   "id=\"profile-data\">");
	put_base64(&page, data, size);
	strbuf_puts(&page, "</script>");
	require(read_profile(page.text, page.n) == (is_packed ? err : -EBADMSG));
	strbuf_fini(&page);
	return 0;
}
