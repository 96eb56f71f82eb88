#include "symbolize/roots.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Descriptors; of more containers than that the first ones' debug files are found. */
#define MOST_ROOTS 128

struct root {
	dev_t dev;
	ino_t ino;
	int fd;
};

void roots_fini(struct roots *r)
{
	for (size_t i = 0; i < r->n; i++)
		cleanup_close_fd(&r->list[i].fd);
	free(r->list);
	*r = (struct roots){};
}

uint32_t roots_of(struct roots *r, uint32_t pid)
{
	char path[64];
	struct stat st, ours;

	(void)snprintf(path, sizeof(path), "/proc/%u/root/", pid);
	if (stat(path, &st) < 0 || stat("/", &ours) < 0 ||
	    (st.st_dev == ours.st_dev && st.st_ino == ours.st_ino))
		return ROOT_OURS;
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].dev == st.st_dev && r->list[i].ino == st.st_ino)
			return (uint32_t)i;
	if (r->n == MOST_ROOTS)
		return ROOT_OURS;

	struct root root = { .dev = st.st_dev,
			     .ino = st.st_ino,
			     .fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) };

	if (root.fd < 0)
		return ROOT_OURS;
	array_push(r->list, r->n, r->capacity, root);
	return (uint32_t)(r->n - 1);
}

int roots_fd(const struct roots *r, uint32_t root)
{
	return root == ROOT_OURS ? -1 : r->list[root].fd;
}
