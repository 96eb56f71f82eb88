/* processes/stamp.h - which of the files that may have been at one place was mapped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/asks.h"

/* What the kernel told of a mapped file besides device and inode. */
struct file_stamp {
	uint8_t bytes[20]; /* its build ID, of @n bytes; 0: not told */
	size_t n;
	uint64_t mapped_at; /* ns of CLOCK_MONOTONIC; 0: not known */
};

/* Of one build, or both of a build that was not told? */
bool stamp_is_same(const struct file_stamp *a, const struct file_stamp *b);

/*
 * Was the file, which is as @file says, written over after it was mapped? False where there is a
 * build ID, which says it better.
 */
bool stamp_is_before(const struct file_stamp *stamp, const struct file_fact *file);
