/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/skeleton.h - the object file of the programs, which is in ours packed: 82 of 531 KB.
 * Unpacking takes 0.3 ms. scripts/packed_skeleton makes stackcount.skel.h. For object.c and
 * object_*.c.
 */
#pragma once

#include <stdlib.h>

#include "base/alloc.h"
#include "base/packed.h"
#include "stackcount.skel.h"

/* The skeleton asks for this at the opening, and open_skeleton() frees it. */
static inline const void *stackcount_bpf__elf_bytes(size_t *sz)
{
	void *bytes = xmalloc(OBJECT_BYTES);

	packed_open(object_packed, sizeof(object_packed), bytes, OBJECT_BYTES);
	*sz = OBJECT_BYTES;
	return bytes;
}

/* libbpf has copies of all that it needs once the object is open. */
static inline struct stackcount_bpf *open_skeleton(void)
{
	struct stackcount_bpf *s = stackcount_bpf__open();

	if (s) {
		free((void *)s->skeleton->data);
		s->skeleton->data = NULL;
	}
	return s;
}
