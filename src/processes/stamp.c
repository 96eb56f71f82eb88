// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/stamp.h"

#include <string.h>

#include "base/clock.h"

bool stamp_is_same(const struct file_stamp *a, const struct file_stamp *b)
{
	/* Most differ at once. An inode number that is used again and again has many entries. */
	return a->n == b->n && a->bytes[0] == b->bytes[0] && memcmp(a->bytes, b->bytes, a->n) == 0;
}

bool stamp_is_before(const struct file_stamp *stamp, const struct file_fact *file)
{
	const uint64_t written = file->changed * NS_PER_S + file->changed_ns;
	const uint64_t age = clock_ns(CLOCK_MONOTONIC) - stamp->mapped_at;

	return stamp->mapped_at && !stamp->n && written > clock_ns(CLOCK_REALTIME) - age;
}
