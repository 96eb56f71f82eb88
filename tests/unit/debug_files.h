/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* debug_files.h - the search for a debug file in one process, as a parser does it. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/debug.h"

/* A regular file below @root; -1: below ours. */
static inline int open_below(int root, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = root < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			  : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		cleanup_close_fd(&fd);
	return fd;
}

static inline int debug_file_find(const struct image *im, int root, const char *path,
				  struct image **ret, struct error *e)
{
	struct debug_hint hint;

	image_debug_hint(im, &hint);
	for (unsigned i = 0; i < DEBUG_CANDIDATES; i++) {
		cleanup_free char *at = debug_hint_path(&hint, path, i);
		cleanup_close int fd = at ? open_below(root, at) : -1;

		if (fd >= 0 && debug_file_take(im, fd, ret, e) == 0)
			return 0;
	}
	return error_set(e, -ENOENT, "no debug file");
}
