// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/packed.h"

#include <assert.h>
#include <libdeflate.h>

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
