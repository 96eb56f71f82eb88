/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/array.h - a plain array that grows: three variables (items, n, capacity) and a macro. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Return @items, moved if necessary, with room for more than @n. Doubles *@capacity when full. */
static inline void *array_room(void *items, size_t n, size_t *capacity, size_t item_size)
{
	if (n < *capacity)
		return items;
	*capacity = *capacity ? *capacity * 2 : 16;
	return xreallocarray(items, *capacity, item_size);
}

/* Make room for one more in @items, of which @n are used. */
#define array_reserve(items, n, cap) \
	((items) = array_room((items), (n), &(cap), sizeof((items)[0])))

/* Append @value. */
#define array_push(items, n, cap, value) \
	((void)array_reserve(items, n, cap), (void)((items)[(n)++] = (value)))

/* Compare items that begin with a uint64_t, by that. */
static inline int array_compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* How many of the @n items, sorted by array_compare_u64(), are below @key? */
static inline size_t array_count_below(const void *items, size_t n, size_t item_size, uint64_t key)
{
	size_t low = 0;

	while (low < n) {
		const size_t middle = low + (n - low) / 2;

		if (array_compare_u64((const char *)items + middle * item_size, &key) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}
