// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "files/files.h"

#define MOST_ROOTS 128

/* A directory may be the root in several mount namespaces, with different mounts below it. */
struct root {
	dev_t dev;
	ino_t inode, namespace;
	int handle;
};

struct roots {
	struct files *files;
	struct root roots[MOST_ROOTS];
	size_t n;
};

struct roots *roots_new(struct files *files)
{
	struct roots *r = xcalloc(1, sizeof(*r));

	r->files = files;
	return r;
}

void roots_free(struct roots *r)
{
	free(r);
}

static bool is_same_root(const struct root *a, const struct root *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->namespace == b->namespace;
}

/* Uses the kernel's cached data, because the file system may not answer. */
static bool identify_root(const char *path, dev_t *ret_dev, ino_t *ret_inode)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) < 0)
		return false;
	*ret_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	*ret_inode = st.stx_ino;
	return true;
}

/* Hold the root, through the first process that has it. */
static int lend_handle(const struct roots *r, struct root *root, uint32_t pid)
{
	if (root->handle == HANDLE_NONE && r->files)
		root->handle = files_root(r->files, pid, root->dev, root->inode);
	return (int)(root - r->roots);
}

int roots_of(struct roots *r, uint32_t pid)
{
	struct root asked = { .handle = HANDLE_NONE };
	dev_t unused;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (!identify_root(path, &unused, &asked.namespace))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (!identify_root(path, &asked.dev, &asked.inode))
		return -1;
	for (size_t i = 0; i < r->n; i++)
		if (is_same_root(&r->roots[i], &asked))
			return lend_handle(r, &r->roots[i], pid);
	if (r->n == MOST_ROOTS || (r->n && r->n >= files_most_handles() / 4))
		return -1;
	r->roots[r->n] = asked;
	return lend_handle(r, &r->roots[r->n++], pid);
}

int roots_handle(const struct roots *r, int root)
{
	return root < 0 ? HANDLE_NONE : r->roots[root].handle;
}

bool roots_is_one(const struct roots *r, int a, int b)
{
	return r->roots[a].dev == r->roots[b].dev && r->roots[a].inode == r->roots[b].inode;
}
