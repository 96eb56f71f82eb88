/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/orc.h - entries of the kernel's unwind tables (ORC), and the rules of arch/kernel_walk.h
 * that they mean.
 *
 * An entry says, from its address on, where a frame's caller is. Its layout differs between
 * kernels, and so do its numbers of registers. Since Linux 6.4 the kernel's header of its tables
 * has a hash of the declarations. Only that tells the layout for sure, so an unknown hash means no
 * rules at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORC_ENTRY_BYTES 6
#define ORC_HEADER_BYTES 20

enum orc_layout {
	ORC_UNKNOWN,
	ORC_OF_4_14, /* up to 6.2 */
	ORC_OF_6_3,
	ORC_OF_6_4,
	ORC_OF_7_1, /* as ORC_OF_6_4, with other numbers of registers */
};

/* The layout by the kernel's header. */
enum orc_layout orc_layout_of(const uint8_t header[ORC_HEADER_BYTES]);

/* The layout of a kernel without a header, by members that its struct orc_entry has. */
enum orc_layout orc_layout_by_members(bool has_type, bool has_signal, bool has_end);

/*
 * The rule for an entry. 0: the layout is unknown.
 */
uint64_t orc_rule_of(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES]);

/* The rule for a return address that the kernel's tracing has put in place of the caller's. */
uint64_t orc_rule_of_replaced(void);
