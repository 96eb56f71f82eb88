/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/looks.h - read the mappings of processes from /proc into their programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/late.h"
#include "processes/programs.h"

struct looks {
	struct programs *programs;
	struct late late; /* without events, only the processes of this period */
	bool is_followed; /* process_events report all changes from here on */
};

/*
 * Read the mappings of process @tgid, unless its program is complete (program_is_all_known()) or
 * its list is late. Pointers to programs stay valid.
 */
void looks_read(struct looks *l, uint32_t tgid);

/* Try one late process again, if one is due. Returns its number; 0: none is due. */
uint32_t looks_read_late(struct looks *l);

/* Until @until, read the processes that were hit and are incomplete, unless their lists are late.
 */
void looks_read_hit(struct looks *l, uint64_t until);

/* The same. Then retries late lists until @until. */
void looks_settle(struct looks *l, uint64_t until);
