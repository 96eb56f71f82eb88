// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flip FIRST SECOND N - libraries FIRST and SECOND are mapped in each other's place, N times each
 * in turn, with nothing but a call of getppid() between. Their functions must lie at different
 * places.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "work.h"

#define AT ((void *)0x5100000000)

static struct library {
	int fd;
	size_t size;
	uintptr_t entry;
} libraries[2];
static uint64_t n;

static struct library find(const char *path, const char *entry)
{
	struct library l = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	struct link_map *map = dlopen(path, RTLD_NOW);
	void *at = map ? dlsym(map, entry) : NULL;
	struct stat st;

	if (!at || fstat(l.fd, &st) < 0) {
		fprintf(stderr, "%s\n", path);
		exit(1);
	}
	l.size = st.st_size;
	l.entry = (uintptr_t)at - map->l_addr;
	dlclose(map);
	return l;
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < 2 * n; i++) {
		const struct library *l = &libraries[i % 2];

		if (mmap(AT, l->size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, l->fd, 0) !=
		    AT)
			exit(1);
		((void (*)(void))((uintptr_t)AT + l->entry))();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 3, "FIRST SECOND N");
	libraries[0] = find(argv[0], "late_entry");
	libraries[1] = find(argv[1], "next_entry");
	n = work_number(argv[2]);
	if (libraries[0].entry == libraries[1].entry)
		exit(1);
	work_run(run);
	work_expect("late_entry;late_hit", n);
	work_expect("next_entry;next_hit", n);
	return 0;
}
