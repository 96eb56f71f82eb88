// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/mapper.h"

#include <unistd.h>

/*
 * If the process has gone and its root is not known, take ours: openers accept a file only if it is
 * the mapped one.
 */
void mapper_find_root(struct mapper *m, struct roots *roots)
{
	if (m->is_root_sure)
		return;

	const int root = roots_of(roots, m->pid);

	if (root >= 0 || m->root < 0)
		m->root = root >= 0 ? root : roots_of(roots, (uint32_t)getpid());
	m->is_root_sure = true;
}
