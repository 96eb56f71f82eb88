/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/spending.h - bounds the time that children spend on each user's files: CPU time, and long
 * waits. Root's have no bound.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * If a user's file makes a child wait so long, the user pays for that, too. A shorter
 * wait may come from a busy machine.
 */
#define SPENDING_LONG_WAIT_NS NS_PER_S

/*
 * Many short waits delay others, too. A user whose files have made children wait for so long gets a
 * pause. Waits are forgotten at the rate of one second in six. A wait below the least one is that
 * for a CPU.
 */
#define SPENDING_LEAST_WAIT_NS (NS_PER_S / 50)
#define SPENDING_MOST_WAITS_NS (10 * NS_PER_S)
#define SPENDING_FORGET_RATE 6

struct spending {
	uint64_t most_ns;  /* bound for all files of one user */
	const char *after; /* the loss: "this user's other files get no unwind tables" */
	struct spent *users;
	size_t n, capacity;
};

void spending_fini(struct spending *s);

/* May children read files of @user? 0, or -EDQUOT: the time is used up; -EAGAIN: not for a while.
 */
int spending_check(const struct spending *s, uint32_t user);

/*
 * A child has spent @cpu_ns of CPU time on a file of @user, and its asker has waited @took_ns.
 * Warns when a bound is reached.
 */
void spending_add(struct spending *s, uint32_t user, uint64_t cpu_ns, uint64_t took_ns);
