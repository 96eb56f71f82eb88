/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* match/verdict.h - what do the kernel's uprobes make of an instruction? Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uprobe_verdict {
	UPROBE_FINE,     /* executed as it is, unless the kernel refuses it for another reason */
	UPROBE_REFUSED,  /* no probe: the kernel refuses it, or it would count too much */
	UPROBE_MISTAKEN, /* another instruction would be executed: never probe it */
};

/*
 * The verdict on the instruction at the beginning of @bytes. If they do not hold it as a whole, the
 * verdict is UPROBE_MISTAKEN.
 */
enum uprobe_verdict uprobe_verdict(const uint8_t *bytes, size_t n, bool is_64_bit);
