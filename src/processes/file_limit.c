// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/file_limit.h"

#include <errno.h>

#include "base/log.h"

struct file_limit file_limit_of(size_t n_wished, size_t n_possible)
{
	const bool is_lower = n_possible < n_wished;

	return (struct file_limit){ .most = is_lower ? n_possible : n_wished,
				    .is_lower = is_lower };
}

bool file_limit_is_reached(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

void file_limit_note_closed(struct file_limit *l)
{
	if (!l->n_kept)
		l->n_kept = l->n;
}

void file_limit_warn(struct file_limit *l)
{
	if (l->has_warned)
		return;
	l->has_warned = true;
	log_warn("only %zu files are kept open%s: some frames have no name, because their files "
		 "have gone",
		 l->n_kept, l->is_lower ? " (see ulimit -Hn)" : "");
}
