// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/packed.h"

#include <assert.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static void free_decompressor(struct libdeflate_decompressor **d)
{
	libdeflate_free_decompressor(*d);
}

void packed_open(const void *packed, size_t n, void *to, size_t n_to)
{
	cleanup(free_decompressor) struct libdeflate_decompressor *d =
		memory_or_exit(libdeflate_alloc_decompressor());
	const enum libdeflate_result result =
		libdeflate_gzip_decompress(d, packed, n, to, n_to, NULL);

	assert(result == LIBDEFLATE_SUCCESS);
	(void)result;
}

void packed_open_xz(const void *packed, size_t n, void *to, size_t n_to)
{
	uint64_t most_bytes = UINT64_MAX;
	size_t at = 0, at_to = 0;
	const lzma_ret result =
		lzma_stream_buffer_decode(&most_bytes, 0, NULL, packed, &at, n, to, &at_to, n_to);

	(void)memory_or_exit(result == LZMA_MEM_ERROR ? NULL : to);
	assert(result == LZMA_OK && at_to == n_to);
}
