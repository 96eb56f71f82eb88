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
#include <string.h>

#include "base/error.h"

struct kallsyms;

struct kernel_symbol {
	const char *name;   /* lent by the kallsyms, as is @module */
	const char *module; /* "ext4", "bpf", or NULL for the kernel itself */
	uint64_t addr;
	uint64_t size;
};

/* Is the code of this module made at run time? BPF programs have it, and ftrace. */
static inline bool is_made_at_run_time(const char *module)
{
	return strcmp(module, "bpf") == 0 || strncmp(module, "__builtin__", 11) == 0;
}

/*
 * Read @symbols_path and @modules_path ("/proc/kallsyms" and "/proc/modules"; other files in
 * tests). *@ret is the caller's.
 * Errors: -EPERM  all addresses are 0 (kptr_restrict, or no CAP_SYSLOG)
 *         others from opening and reading
 */
must_check int kallsyms_read(const char *symbols_path, const char *modules_path,
			     struct kallsyms **ret, struct error *e);
void kallsyms_freep(struct kallsyms **k);

/* Find the function that contains @addr. Of several names, the one that a user would write. */
bool kallsyms_at(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *ret);

/* The modules when the files were read, and their places, as one number: see modules.now. */
uint64_t kallsyms_modules(const struct kallsyms *k);

/* Functions (types t, T, w, W), sorted by address: @i from 0 to kallsyms_n() - 1. */
size_t kallsyms_n(const struct kallsyms *k);
void kallsyms_nth(const struct kallsyms *k, size_t i, struct kernel_symbol *ret);

/* --- modules: their places, and since when --- */

/* A line of /proc/modules: "ext4 917504 1 - Live 0xffffffffc0401000". */
struct module {
	char name[64];
	uint64_t start, end; /* of its code; since Linux 6.4 @end includes the data */
	/*
	 * Since when (ns of CLOCK_MONOTONIC) do its addresses belong to it for sure? 0: from the
	 * start; no hit can be older. A module that came and went between two looks is not seen.
	 */
	uint64_t since;
};

/* A zeroed one has seen no module. */
struct modules {
	struct module *present; /* at the last look */
	size_t n, capacity;
	uint64_t now;    /* these as one number */
	uint64_t looked; /* when, ns of CLOCK_MONOTONIC */
};

void modules_fini(struct modules *m);

/* Read @path ("/proc/modules") now. Leaves out lines that are malformed, or hide the address. */
void modules_look(struct modules *m, const char *path);

/* The module of this name at the last look; NULL: there is none. Lent until the next look. */
const struct module *modules_find(const struct modules *m, const char *name);
