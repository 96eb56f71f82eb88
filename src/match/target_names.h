/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/target_names.h - the names of targets in a list of targets.
 *
 *	vfs_read                     a kernel function
 *	malloc, __libc_malloc        two names of one place, which the patterns match
 *	free [libc.so.6]             a name in several files or modules
 *	m_start [0xffffffff812a4b70] a name that one file or module has more than once
 *	sched:sched_switch           a tracepoint
 *	libc:memory_sbrk_more        a USDT probe: all its places in a file are one
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "match/target.h"

/* Owned; a zeroed one is empty. */
struct target_names {
	const char **names; /* of each row, all different */
	size_t n;
	uint32_t *rows; /* of each target: the row that counts it */
	struct strtab *strings;
};

void target_names_make(const struct target_list *targets, struct target_names *ret);
void target_names_fini(struct target_names *t);
