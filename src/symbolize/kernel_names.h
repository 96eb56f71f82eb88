/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbolize/kernel_names.h - names of kernel addresses at the time of a hit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/host.h"
#include "kernel/kallsyms.h"

struct kernel_names;

/* @host is borrowed. Notes the modules that are loaded now, to see later changes. */
struct kernel_names *kernel_names_new(struct host *host);
void kernel_names_free(struct kernel_names *k);

/* The next question looks for changes. */
void kernel_names_refresh(struct kernel_names *k);

/* The reason why there are no names (kptr_restrict), or NULL. Lent by @k. */
const char *kernel_names_trouble(const struct kernel_names *k);

struct kernel_name {
	struct kernel_symbol symbol; /* lent until the next question */
	bool is_lasting;             /* the address has this name at any time */
};

/*
 * The function that was at @addr at @time (ns of CLOCK_MONOTONIC). False: none is known for
 * certain. If no function is there, reads the symbols once more, at most once per refresh.
 */
bool kernel_names_at(struct kernel_names *k, uint64_t addr, uint64_t time, struct kernel_name *ret);

/* Is it a function of the tracing itself? */
bool kernel_name_is_machinery(const struct kernel_name *name);
