/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/breakpoints_aside.h - breakpoints_find() in another process, because a command's dynamic
 * linker is a foreign file, and its file system may not answer.
 */
#pragma once

#include "base/aside.h"
#include "tool/breakpoints.h"

struct breakpoints_aside {
	struct aside aside;
};

#define BREAKPOINTS_ASIDE_NONE       \
	{                            \
		.aside = ASIDE_NONE, \
	}

/*
 * Make the process, for a command @pid before its exec. If that fails, breakpoints_aside_find()
 * finds nothing.
 */
void breakpoints_aside_start(struct breakpoints_aside *b, pid_t pid);

/*
 * Wait until the process is ready. Call it before counting begins, so that its start causes no
 * hits.
 */
void breakpoints_aside_wait(struct breakpoints_aside *b);

/*
 * Call breakpoints_find() in the process, which then ends. Meanwhile *@helper holds its PID, so its
 * hits are left out.
 */
size_t breakpoints_aside_find(struct breakpoints_aside *b, uint64_t pc, uint32_t *helper,
			      uint64_t ret[MOST_BREAKPOINTS]);

void breakpoints_aside_end(struct breakpoints_aside *b);
