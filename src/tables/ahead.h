/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/ahead.h - unwind tables of what processes have mapped, made while the BPF programs are
 * being loaded: in a thread of its own, that has nothing to do with the kernel's maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "unwind/compact.h"

/* The state of a file: what is written over is another one. */
struct file_state {
	uint64_t dev, inode, size;
	struct timespec changed;
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b);

struct ahead;

/*
 * Begin with the files of the @n processes at @pids, up to @max_bytes of tables. What cannot be
 * made is left out. Errors: from starting the thread.
 */
must_check int ahead_start(const uint32_t *pids, size_t n, uint64_t max_bytes, struct ahead **ret,
			   struct error *e);

/* The table of @file, handed over, once the thread has ended. False: it was not made. */
bool ahead_take(struct ahead *a, const struct file_state *file, struct unwind_table *ret);

/* What is under way is given up, and what was not taken is freed. */
void ahead_free(struct ahead *a);
