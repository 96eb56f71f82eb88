/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* saved/page.h - the profile in a page of ours (report/render_html.c). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Do these bytes begin like HTML? */
bool page_is_page(const void *bytes, size_t n);

/*
 * Append the bytes of the profile in page @name:
 *
 *	<script type="application/octet-stream;base64" id="profile-data">H4sI...</script>
 *
 * Errors: -ENOEXEC  no such element
 *         -EBADMSG  it holds no base64 (RFC 4648)
 */
must_check int page_data(const void *bytes, size_t n, const char *name, struct strbuf *to,
			 struct error *e);
