/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/ready.h - --ready-fd: tell the parent process that counting has begun. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tables/unwinder.h"

struct ready {
	uint64_t fd; /* 0: the option was not given */
	bool is_asked;
};

/*
 * Check that descriptor @fd is open for writing, and close it in programs that we execute. Call it
 * before anything is opened. @fd 0: nothing to check. Errors: -EBADF.
 */
must_check int ready_check(uint64_t fd, struct error *e);

/*
 * Call it when counting has begun and the mappings of all running processes are read. Once @u
 * (NULL: no unwinder) has made their tables, it writes a newline to the descriptor and closes it. A
 * second call does nothing. Keeps @ready and @u.
 */
void ready_tell(struct ready *ready, struct unwinder *u);
