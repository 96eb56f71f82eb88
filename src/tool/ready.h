/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/ready.h - report to the parent process that counting has begun: --ready-fd. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tables/unwinder.h"

struct ready {
	uint64_t fd; /* 0: no descriptor was given */
	bool is_asked;
};

/*
 * Check that descriptor @fd can be written to, and keep it from programs that we start. Call it
 * before any other is opened. 0: there is none. Errors: -EBADF.
 */
must_check int ready_check(uint64_t fd, struct error *e);

/*
 * Counting has begun, and all running processes were read. Once @u (NULL: there is none) has made
 * their tables, write a newline to the descriptor and close it. A second call does nothing. Keeps
 * @ready and @u.
 */
void ready_tell(struct ready *ready, struct unwinder *u);
