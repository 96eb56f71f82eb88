// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "arch/orc.h"

/* The kernel has no such tables here. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum orc_layout orc_layout_of(const uint8_t header[ORC_HEADER_BYTES])
{
	return ORC_UNKNOWN;
}

enum orc_layout orc_layout_by_members(bool has_type, bool has_signal, bool has_end)
{
	return ORC_UNKNOWN;
}

uint64_t orc_rule_of(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES])
{
	return 0;
}

uint64_t orc_rule_of_replaced(void)
{
	return 0;
}
