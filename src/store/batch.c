// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/batch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

#define BATCH 4096

static void resize_batch(struct batch *b, uint32_t size)
{
	b->size = size;
	b->keys = xreallocarray(b->keys, size, b->key_size);
	b->values = xreallocarray(b->values, size, b->value_size);
}

void batch_fini(struct batch *b)
{
	free(b->keys);
	free(b->values);
}

int batch_each(int fd, struct batch *b, const struct batch_walk *walk, struct error *e)
{
	uint64_t cursor[2] = {}; /* only the kernel reads it; it writes at most 16 bytes */
	bool is_first = true;

	if (fd < 0)
		return 0;
	resize_batch(b, BATCH);
	for (;;) {
		uint32_t n = b->size;
		int err = walk->read(fd, is_first ? NULL : cursor, cursor, b->keys, b->values, &n,
				     NULL);

		if (err && errno == ENOSPC) { /* a single bucket has more elements */
			resize_batch(b, 2 * b->size);
			continue;
		}
		if (err && errno != ENOENT)
			return error_errno(e, "read the counts");
		if (!walk->take(walk->context, fd, b, n) || err)
			return 0;
		is_first = false;
	}
}
