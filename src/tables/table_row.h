/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tables/table_row.h - look up an address in a published table, as the programs do. */
#pragma once

#include <stdint.h>

#include "bpf/walk.h"
#include "tables/memory.h"

/*
 * Put the rule for @vaddr of the image at @place into *@ret: UNWIND_NO_ROW if no row covers it.
 * Returns UNWIND_GOES_ON, or UNWIND_END_NO_TABLE_YET if the image's table was given up.
 */
enum unwind_end table_row(const struct unwind_memory *m, uint32_t place, uint64_t vaddr,
			  struct unwind_rule *ret);
