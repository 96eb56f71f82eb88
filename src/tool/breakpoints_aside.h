/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/breakpoints_aside.h - the same by another process, because a command's dynamic linker is a
 * foreign file, and its file system may not answer.
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

/* Make the process, for a command @pid that is to be executed. Without one nothing is found. */
void breakpoints_aside_start(struct breakpoints_aside *b, pid_t pid);

/* Wait until it is ready, before counting begins: hits of its start are to be no one's. */
void breakpoints_aside_wait(struct breakpoints_aside *b);

/*
 * As breakpoints_find(). The process ends. Its hits are left out meanwhile, because *@helper holds
 * its PID.
 */
size_t breakpoints_aside_find(struct breakpoints_aside *b, uint64_t ip, uint32_t *helper,
			      uint64_t ret[MOST_BREAKPOINTS]);

void breakpoints_aside_end(struct breakpoints_aside *b);
