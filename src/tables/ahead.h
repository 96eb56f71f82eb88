/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/ahead.h - a thread that has helpers make the unwind tables of processes, while the main
 * thread loads the BPF programs. It does not touch BPF maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tables/remote.h"

struct ahead;

/*
 * Have the tables made for the files of the @n processes at @pids, up to @max_bytes. Skips files
 * without a table. @remote is borrowed until ahead_free(). Errors: those of starting the thread.
 */
must_check int ahead_start(struct remote *remote, const uint32_t *pids, size_t n,
			   uint64_t max_bytes, struct ahead **ret, struct error *e);

/* Wait for the thread, and give the table of @file to the caller. False: there is none. */
bool ahead_take(struct ahead *a, const struct file_state *file, struct remote_table *ret);

/* End the thread, and free the remaining tables. Frees nothing if the thread takes too long. */
void ahead_free(struct ahead *a);
