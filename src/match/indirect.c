// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An IFUNC symbol is the address of a resolver: code that tests the CPU and returns the address of
 * the implementation. We do not run code of a foreign file. But libc's resolvers have run already,
 * in this program, and the loader's answer can be read. It is the same in all processes of this
 * machine that map the same file, apart from GLIBC_TUNABLES.
 */
#include "match/indirect.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_mapping_of_file(const struct mapping *m, const struct stat *st)
{
	struct stat own;

	return m->inode == st->st_ino && m->path[0] == '/' && stat(m->path, &own) == 0 &&
	       own.st_ino == st->st_ino && own.st_dev == st->st_dev;
}

static void find_own_library(struct indirect *in)
{
	struct stat st;

	in->is_asked = true;
	if (stat(in->path, &st) < 0 || mapping_list_read((uint32_t)getpid(), &in->own, NULL) != 0)
		return;
	for (size_t i = 0; i < in->own.n && !in->file; i++)
		if (is_mapping_of_file(&in->own.mappings[i], &st))
			in->file = &in->own.mappings[i];
	if (in->file)
		in->library = dlopen(in->file->path, RTLD_LAZY | RTLD_NOLOAD);
}

bool indirect_offset(struct indirect *in, const char *name, uint64_t *ret_offset)
{
	if (!in->is_asked)
		find_own_library(in);
	if (!in->library)
		return false;

	uint64_t addr = (uintptr_t)dlsym(in->library, name);
	const struct mapping *m = mapping_list_at(&in->own, addr);

	/* gettimeofday and time lead into the vdso. */
	if (!m || m->inode != in->file->inode || m->dev != in->file->dev)
		return false;
	*ret_offset = addr - m->start + m->offset;
	return true;
}

void indirect_fini(struct indirect *in)
{
	if (in->library)
		(void)dlclose(in->library);
	mapping_list_fini(&in->own);
	*in = (struct indirect){};
}
