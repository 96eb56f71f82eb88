/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader/spending.h - CPU time that helpers took for files of each user. Root's may take any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* Whoever has an opener or a parser wait so long pays for that, too; a busy machine does not count.
 */
#define SPENDING_LONG_WAIT_NS NS_PER_S

struct spending {
	uint64_t most_ns;  /* for all files of one user */
	const char *after; /* what further ones do not get: "unwind tables of further ones are not
			      made" */
	struct spent *users;
	size_t n, capacity;
};

void spending_fini(struct spending *s);

/* May more be spent for files of @user? */
bool spending_may(const struct spending *s, uint32_t user);

/* Once too much: it is said. */
void spending_add(struct spending *s, uint32_t user, uint64_t ns);
