/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/ahead.h - a thread that makes the unwind tables of processes while the BPF programs are
 * being loaded. It does not touch the kernel's maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "unwind/compact.h"

/* Identifies a file and its contents: after a write it is another one. */
struct file_state {
	uint64_t dev, inode, size;
	struct timespec changed;
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b);

struct ahead;

/*
 * Begin with the files of the @n processes at @pids, up to @max_bytes of tables. Files without a
 * table are left out. Errors: from starting the thread.
 */
must_check int ahead_start(const uint32_t *pids, size_t n, uint64_t max_bytes, struct ahead **ret,
			   struct error *e);

/* The table of @file, handed over, once the thread has ended. False: it was not made. */
bool ahead_take(struct ahead *a, const struct file_state *file, struct unwind_table *ret);

/* End the thread, and free the tables that were not taken: unless it takes too long to end. */
void ahead_free(struct ahead *a);
