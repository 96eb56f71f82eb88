/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/gzip.h - packs bytes (RFC 1952), without time or name. It uses libdeflate, which packs
 * three times as fast as zlib. It has no streams, so the bytes must be whole.
 */
#pragma once

#include <stddef.h>

#include "report/render.h"

/* Give @write the @n @bytes, packed, in one piece. Returns its result. */
int gzip_write(const void *bytes, size_t n, render_write *write, void *context);
