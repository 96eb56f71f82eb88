// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "arch/orc.h"

enum orc_layout orc_layout_of(const uint8_t header[ORC_HEADER_BYTES])
{
	(void)header;
	return ORC_UNKNOWN;
}

enum orc_layout orc_layout_by_members(bool has_type, bool has_signal, bool has_end)
{
	(void)has_type;
	(void)has_signal;
	(void)has_end;
	return ORC_UNKNOWN;
}

uint64_t orc_rule_of(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES])
{
	(void)layout;
	(void)bytes;
	return 0;
}

uint64_t orc_rule_of_replaced(void)
{
	return 0;
}
