// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/mapped.h"

#include <string.h>

#include "base/array.h"

const char *mapped_module(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (path[0] == '\0')
		return "[anon]";
	if (strncmp(path, "/memfd:", 7) == 0)
		return path + 1; /* its name may have a slash */
	return slash && slash[1] ? slash + 1 : path;
}

enum image_kind mapped_kind(const struct mapping *m)
{
	if (m->inode)
		return IMAGE_FILE;
	/* All 64-bit processes have the same vdso as we. 32-bit processes have another one. */
	if (strcmp(m->path, "[vdso]") == 0 && m->start > UINT32_MAX)
		return IMAGE_VDSO;
	return IMAGE_NO_FILE;
}

bool mapped_is_memory(const struct mapping *m)
{
	static const char *const files[] = { "/memfd:", "/dev/zero", "/dev/shm/", "/SYSV" };
	static const char *const kernels[] = { "[vdso]", "[vsyscall]", "[uprobes]",
					       "[path too long]", "[path not known]" };

	for (size_t i = 0; i < ARRAY_SIZE(files) && m->inode; i++)
		if (strncmp(m->path, files[i], strlen(files[i])) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(m->path, kernels[i]) == 0)
			return false;
	return !m->inode;
}
