/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/mapped.h - the memory of an array of the programs, mapped into this process. */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>

#include "base/error.h"

struct mapped {
	void *at; /* NULL: not mapped */
	size_t bytes;
};

/* Map all of @map, for reading and writing. Errors: of mmap(2). */
must_check int mapped_open(const struct bpf_map *map, struct mapped *ret, struct error *e);
void mapped_close(struct mapped *m);
