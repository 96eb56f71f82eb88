/* processes/looks.h - what /proc says that processes have mapped, put into their programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "processes/late.h"
#include "processes/programs.h"

struct looks {
	struct programs *programs;
	struct late late; /* without events, those of this period */
	bool is_followed; /* events tell what processes do from here on */
};

/*
 * Read what process @tgid has mapped, unless all is known of it, or its list was late. Programs
 * stay where they are.
 */
void looks_read(struct looks *l, uint32_t tgid);

/* The same for one that was late, if one is due. Returns it; 0: none is. */
uint32_t looks_read_late(struct looks *l);

/* Read those that were hit and are not known, where they are late again and again until @until. */
void looks_settle(struct looks *l, uint64_t until);
