/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/gzip.h - packs bytes as they come (RFC 1952), without time or name. */
#pragma once

#include <stddef.h>

#include "report/render.h"

struct gzip;

/* Packed bytes go to @write. Keeps @context. Holds less than 600 KiB. */
struct gzip *gzip_new(render_write *write, void *context);
void gzip_freep(struct gzip **g);

/* Returns 0, or the first non-zero result of @write, after which nothing is written. */
int gzip_put(struct gzip *g, const void *bytes, size_t n);

/* After the last put. */
int gzip_finish(struct gzip *g);

/* Unpack our own bytes of gzip, which are whole and exactly @n_to when unpacked. */
void gzip_unpack(const void *packed, size_t n, void *to, size_t n_to);

#define cleanup_gzip __attribute__((__cleanup__(gzip_freep)))
