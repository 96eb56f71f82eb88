/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/deflate.h - packs blocks of bytes (DEFLATE, RFC 1951), each by codes of its own and by
 * repetitions within it.
 *
 * Packing takes most of the time of writing a pprof file. zlib's fastest level takes several times
 * as long as this for a file a few per cent smaller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEFLATE_MOST_IN 65536
#define DEFLATE_MOST_OUT (2 * DEFLATE_MOST_IN + 1024)

struct deflate;

struct deflate *deflate_new(void);
void deflate_free(struct deflate *d);

/*
 * Pack the next @n bytes, at most DEFLATE_MOST_IN, to @to, which has room for DEFLATE_MOST_OUT.
 * Returns how many bytes it has written. Bits of an unfinished byte come with the next block.
 */
size_t deflate_block(struct deflate *d, const uint8_t *from, size_t n, bool is_last, uint8_t *to);
