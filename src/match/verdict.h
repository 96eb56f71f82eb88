/* match/verdict.h - what would the kernel's uprobes make of an instruction? Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uprobe_verdict {
	UPROBE_FINE,     /* it is executed as it is, unless it is refused for another reason */
	UPROBE_REFUSED,  /* no probe there: the kernel takes none, or one that counts too much */
	UPROBE_MISTAKEN, /* something else is executed in its stead: never to be probed */
};

/* Of the instruction that these bytes begin with. What they do not hold as a whole is mistaken. */
enum uprobe_verdict uprobe_verdict(const uint8_t *bytes, size_t n, bool is_64_bit);
