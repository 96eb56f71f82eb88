/* store/batch.h - going through a hash map of the kernel, many elements in a system call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>

#include "base/error.h"

/* Room for one batch of a map's elements. Begin with the sizes. */
struct batch {
	size_t key_size, value_size;
	uint32_t size; /* elements */
	void *keys;
	void *values;
};

void batch_fini(struct batch *b);

/* What is done with a batch's @n keys and values out of map @fd. */
typedef void batch_take(void *context, int fd, struct batch *b, uint32_t n);

typedef int batch_read(int fd, void *in, void *out, void *keys, void *values, __u32 *n,
		       const struct bpf_map_batch_opts *opts);

/* How to go through a map: @read may delete what it reads. */
struct batch_walk {
	batch_read *read;
	batch_take *take;
	void *context;
};

/* All of map @fd; one below 0 is empty. Errors: the kernel's. */
must_check int batch_each(int fd, struct batch *b, const struct batch_walk *walk, struct error *e);
