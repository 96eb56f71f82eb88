/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/kallsyms.h - the kernel's symbols: functions of the kernel and of modules, and BPF
 * programs.
 *
 *	ffffffff81000000 T startup_64
 *	ffffffffc0401000 t ext4_get_branch	[ext4]
 *
 * kallsyms has no sizes. A function ends where the next symbol of any type begins (marks of data
 * and sections included), or where its module ends (/proc/modules). If no function of the same
 * module follows, it ends after a page at most. So an address behind the last function has no name,
 * instead of a neighbour's: a module may have been there that has gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kallsyms;

struct kernel_symbol {
	const char *name;   /* lent by the kallsyms, as is @module */
	const char *module; /* "ext4", "bpf", or NULL for the kernel itself */
	uint64_t addr;
	uint64_t size;
};

/*
 * Read @symbols_path and @modules_path ("/proc/kallsyms" and "/proc/modules"; other files in
 * tests). *@ret is the caller's.
 * Errors: -EPERM  all addresses are 0 (kptr_restrict, or no CAP_SYSLOG)
 *         others from opening and reading
 */
must_check int kallsyms_read(const char *symbols_path, const char *modules_path,
			     struct kallsyms **ret, struct error *e);
void kallsyms_free(struct kallsyms *k);
void kallsyms_freep(struct kallsyms **k);

/* Find the function that contains @addr. Of several names, the one that a user would write. */
bool kallsyms_at(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *ret);

/* When the files were read, ns of CLOCK_MONOTONIC. */
uint64_t kallsyms_read_at(const struct kallsyms *k);

/* The modules at that time and their places, as one number (kernel/modules.h). */
uint64_t kallsyms_modules(const struct kallsyms *k);

/* Functions (types t, T, w, W), sorted by address: @i from 0 to kallsyms_n() - 1. */
size_t kallsyms_n(const struct kallsyms *k);
void kallsyms_nth(const struct kallsyms *k, size_t i, struct kernel_symbol *ret);
