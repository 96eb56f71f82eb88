/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/spending.h - bounds the time that helpers spend on each user's files: CPU time, and long
 * waits. Root's have no bound.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * If a user's file makes an opener or a parser wait so long, the user pays for that, too. A shorter
 * wait may come from a busy machine.
 */
#define SPENDING_LONG_WAIT_NS NS_PER_S

struct spending {
	uint64_t most_ns;  /* bound for all files of one user */
	const char *after; /* the loss: "this user's other files get no unwind tables" */
	struct spent *users;
	size_t n, capacity;
};

void spending_fini(struct spending *s);

/* Has @user time left? */
bool spending_may(const struct spending *s, uint32_t user);

/* Add @ns to the time of @user. Warns when that reaches the bound. */
void spending_add(struct spending *s, uint32_t user, uint64_t ns);
