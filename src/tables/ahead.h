/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/ahead.h - a thread that has the unwind tables of processes made while the BPF programs are
 * being loaded. It does not touch the kernel's maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tables/remote.h"

struct ahead;

/*
 * Begin with the files of the @n processes at @pids, up to @max_bytes of tables. Files without a
 * table are left out. @remote is kept. Errors: from starting the thread.
 */
must_check int ahead_start(struct remote *remote, const uint32_t *pids, size_t n,
			   uint64_t max_bytes, struct ahead **ret, struct error *e);

/* The table of @file, handed over, once the thread has ended. False: it was not made. */
bool ahead_take(struct ahead *a, const struct file_state *file, struct remote_table *ret);

/* End the thread, and free the tables that were not taken: unless it takes too long to end. */
void ahead_free(struct ahead *a);
