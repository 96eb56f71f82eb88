/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/kernel_orc.h - read the unwind tables of the running kernel and of its modules out of the
 * kernel's memory.
 */
#pragma once

#include <stdbool.h>

#include "arch/arch.h"
#include "bpf/kernel_memory.h"
#include "unwind/table.h"

struct orc_source {
	struct kernel_memory *memory; /* lent */
	const bool *must_end;         /* lent; set by another thread: give up */
	enum orc_layout layout;
};

/*
 * Make the table of the kernel's own code. False: there are no tables, or they are of an unknown
 * kind. *@table is the caller's in any case.
 */
bool orc_read_kernel(struct orc_source *from, struct kernel_table *table);

/*
 * The same for the code of all modules that are in use. After orc_read_kernel(). False: there are
 * none, or they cannot be read. Modules may come and go meanwhile: the caller has to find that out.
 */
bool orc_read_modules(const struct orc_source *from, struct kernel_table *table);
