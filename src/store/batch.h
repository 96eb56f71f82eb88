/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* store/batch.h - read a hash map of the kernel, many elements with each system call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>

#include "base/error.h"

/* Memory for one batch of a map's elements. Begin with the sizes of key and value. */
struct batch {
	size_t key_size, value_size;
	uint32_t size; /* elements */
	void *keys;
	void *values;
};

void batch_fini(struct batch *b);

/*
 * Receives a batch of @n keys and values of map @fd, in @b's memory. False: it needs no more of
 * them.
 */
typedef bool batch_take(void *context, int fd, struct batch *b, uint32_t n);

typedef int batch_read(int fd, void *in, void *out, void *keys, void *values, __u32 *n,
		       const struct bpf_map_batch_opts *opts);

/* @read is libbpf's function for batches; it may also delete the elements that it reads. */
struct batch_walk {
	batch_read *read;
	batch_take *take;
	void *context;
};

/*
 * Pass the elements of map @fd to @walk->take, until it needs no more. A negative @fd is a map
 * without elements. Errors: the kernel's.
 */
must_check int batch_each(int fd, struct batch *b, const struct batch_walk *walk, struct error *e);
