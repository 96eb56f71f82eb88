// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/finding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read.h"
#include "reader/devices.h"

#define NO_HANDLE (-1)
#define STATUS_BYTES 4096

const enum find_where finding_order[] = { FIND_MAPPED, FIND_BY_PROCESS, FIND_HERE, FIND_BELOW };

bool finding_may_be(enum find_where where, const struct mapping *m)
{
	return where != FIND_BY_PROCESS || !m->is_deleted;
}

bool finding_is_missed(int err)
{
	return err == -ENOENT || err == -ESRCH || err == -ESTALE || err == -EACCES ||
	       err == -EPERM || err == -ENOTDIR;
}

/* The owner of /proc/PID will not do: a process can make that root (prctl(2), PR_SET_DUMPABLE). */
uint32_t finding_user_of(uint32_t pid)
{
	char path[32], text[STATUS_BYTES];
	const char *line;

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "\nUid:\t");
	return line ? (uint32_t)strtoul(line + strlen("\nUid:\t"), NULL, 10) : 0;
}

uint64_t finding_place(const struct finding *f, const struct mapping *m)
{
	switch (f->where) {
	case FIND_MAPPED:
		return devices_place_of_mapped(m->dev, finding_user_of(f->pid));
	case FIND_BY_PROCESS:
		return devices_place_below(DEVICES_PATHS, NO_HANDLE, finding_user_of(f->pid));
	case FIND_BELOW:
		return devices_place_below(DEVICES_PATHS, f->root, 0);
	default:
		return devices_place_below(DEVICES_PATHS, NO_HANDLE, 0);
	}
}

int finding_find(const struct finding *f, const struct mapping *m, int *ret_handle, struct stat *st,
		 struct error *e)
{
	switch (f->where) {
	case FIND_MAPPED:
		return mapping_find(f->pid, m, ret_handle, st, e);
	case FIND_BY_PROCESS:
		return mapping_find_by_process(f->pid, m, ret_handle, st, e);
	case FIND_HERE:
		return mapping_find_here(m, ret_handle, st, e);
	case FIND_BELOW:
		return mapping_find_in(f->root, m, ret_handle, st, e);
	case FIND_OURS:
		return mapping_find_ours(m, ret_handle, st, e);
	default:
		return error_set(e, -EINVAL, "no place of a file has number %u", f->where);
	}
}
