/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/mapper.h - a process that maps files, and the root directory of its paths. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/roots.h"

struct mapper {
	uint32_t pid;
	int root;          /* as roots_of(); -1: not known */
	bool is_root_sure; /* false: @root is a guess, that of the process's former program */
};

/* Make sure of the root: look it up unless it is sure already. */
void mapper_find_root(struct mapper *m, struct roots *roots);
