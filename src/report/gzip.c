// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/gzip.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define LEVEL 1

static void free_compressor(struct libdeflate_compressor **c)
{
	libdeflate_free_compressor(*c);
}

int gzip_write(const void *bytes, size_t n, render_write *write, void *context)
{
	cleanup(free_compressor) struct libdeflate_compressor *c =
		memory_or_exit(libdeflate_alloc_compressor(LEVEL));
	const size_t most = libdeflate_gzip_compress_bound(c, n);
	cleanup_free char *packed = xmalloc(most);
	const size_t n_packed = libdeflate_gzip_compress(c, n ? bytes : "", n, packed, most);

	assert(n_packed);
	return write(context, packed, n_packed);
}
