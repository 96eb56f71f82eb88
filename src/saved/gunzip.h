/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* saved/gunzip.h - unpack gzip (RFC 1952) from hostile files. Alone uses zlib here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

bool gunzip_is_packed(const void *bytes, size_t n);

/*
 * Unpack the @n @bytes of file @name, and append the result, at most @most bytes.
 * Errors: -EBADMSG damaged, -E2BIG more than @most.
 */
must_check int gunzip(const void *bytes, size_t n, size_t most, const char *name, struct strbuf *to,
		      struct error *e);
