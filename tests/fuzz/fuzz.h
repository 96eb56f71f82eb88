/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tests/fuzz/fuzz.h - what every fuzz target includes: its function, and how a property is held. */
#pragma once

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds)
{
	if (!holds)
		abort();
}

/* Bytes of the heap in use. A sanitizer has a heap of its own, of which this knows nothing. */
static inline size_t heap_bytes(void)
{
	const struct mallinfo2 heap = mallinfo2();

	return heap.uordblks + heap.hblkhd;
}
