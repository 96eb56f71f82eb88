/*
 * kernel/kallsyms.h - the kernel's symbols: functions of the kernel, of modules, and BPF programs.
 *
 *	ffffffff81000000 T startup_64
 *	ffffffffc0401000 t ext4_get_branch	[ext4]
 *
 * kallsyms tells no sizes. A function is taken to end where the next symbol of
 * any type begins (data and section marks included), or where its module ends
 * (/proc/modules), and a page from its begin at the latest where no function of
 * the same module follows, so that an address behind the last function, where a
 * module may have been that is gone, has no name instead of a neighbour's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kallsyms;

struct kernel_symbol {
	const char *name;   /* lent by the kallsyms */
	const char *module; /* "ext4", "bpf", or NULL for the kernel itself; likewise */
	uint64_t addr;
	uint64_t size;
};

/*
 * Read @symbols_path and @modules_path ("/proc/kallsyms" and "/proc/modules";
 * other files in tests).
 * Errors: -EPERM  all addresses are 0 (kptr_restrict, or no CAP_SYSLOG)
 *         others from opening and reading
 */
must_check int kallsyms_read(const char *symbols_path, const char *modules_path,
			     struct kallsyms **ret, struct error *e);
void kallsyms_free(struct kallsyms *k);
void kallsyms_freep(struct kallsyms **k);

/* The function that @addr lies in. Among aliases the one that a person would write. */
bool kallsyms_at(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *ret);

/* When all was read, ns of CLOCK_MONOTONIC. */
uint64_t kallsyms_read_at(const struct kallsyms *k);

/* Which modules were where then, as the one number of kernel/modules.h. */
uint64_t kallsyms_modules(const struct kallsyms *k);

/* Functions (types t, T, w, W) by rising address, for walking: i from 0 to kallsyms_n() - 1. */
size_t kallsyms_n(const struct kallsyms *k);
void kallsyms_nth(const struct kallsyms *k, size_t i, struct kernel_symbol *ret);
