/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* debug_files.h - take a file's debug file from where it may lie, in one process. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/memory.h"
#include "elf/debug.h"

static inline int debug_file_find(const struct image *im, const char *path, struct image **ret,
				  struct error *e)
{
	struct debug_hint hint;

	image_debug_hint(im, &hint);
	for (unsigned i = 0; i < DEBUG_CANDIDATES; i++) {
		cleanup_free char *at = debug_hint_path(&hint, path, i);
		cleanup_close int fd = at ? open(at, O_RDONLY | O_CLOEXEC) : -1;

		if (fd >= 0 && debug_file_take(im, fd, ret, e) == 0)
			return 0;
	}
	return error_set(e, -ENOENT, "no debug file");
}
