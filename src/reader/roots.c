#include "reader/roots.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define MOST_ROOTS 128

/* A directory may be the root in several mount namespaces, with other things mounted below it. */
struct root {
	int fd;
	dev_t dev;
	ino_t inode, namespace;
};

struct roots {
	struct root roots[MOST_ROOTS];
	size_t n, most;
};

struct roots *roots_new(void)
{
	struct roots *r = xcalloc(1, sizeof(*r));

	r->most = MOST_ROOTS;
	return r;
}

void roots_bound(struct roots *r, size_t most)
{
	if (most < r->most)
		r->most = most ? most : 1;
}

void roots_free(struct roots *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		close(r->roots[i].fd);
	free(r);
}

static bool is_same(const struct root *a, const struct root *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->namespace == b->namespace;
}

/* Of what is known here: a file system behind it may not answer. */
static bool identify(const char *path, dev_t *ret_dev, ino_t *ret_inode)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) < 0)
		return false;
	*ret_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	*ret_inode = st.stx_ino;
	return true;
}

int roots_of(struct roots *r, uint32_t pid)
{
	struct root asked = { .fd = -1 };
	dev_t unused;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (!identify(path, &unused, &asked.namespace))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (!identify(path, &asked.dev, &asked.inode))
		return -1;
	for (size_t i = 0; i < r->n; i++)
		if (is_same(&r->roots[i], &asked))
			return r->roots[i].fd;
	if (r->n >= r->most)
		return -1;
	asked.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (asked.fd >= 0)
		r->roots[r->n++] = asked;
	return asked.fd;
}

static const struct root *find(const struct roots *r, int fd)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->roots[i].fd == fd)
			return &r->roots[i];
	return NULL;
}

bool roots_is_one(const struct roots *r, int a, int b)
{
	const struct root *one, *other;

	if (a == b)
		return true;
	one = find(r, a);
	other = find(r, b);
	return one && other && one->dev == other->dev && one->inode == other->inode;
}

bool roots_identify(const struct roots *r, int root, struct root_id *ret)
{
	const struct root *one = find(r, root);

	if (one)
		*ret = (struct root_id){ one->dev, one->inode };
	return one != NULL;
}
