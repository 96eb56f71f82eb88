/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/mapper.h - a process that maps files, and the root directory of its paths. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reader/roots.h"

struct mapper {
	uint32_t pid;
	int root;          /* roots_of(); -1: it is not known */
	bool is_root_sure; /* false: @root is that of the process's former program, as a guess */
};

/* Look up its root among @roots, unless that is sure. */
void mapper_find_root(struct mapper *m, struct roots *roots);
