/*
 * swap FIRST SECOND N - getppid() N times from library FIRST; it is unloaded, and SECOND loaded in
 * its place; a line on standard input; then N times from that.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static char **libraries;
static uint64_t n;

FRAME static void *load(int which, const char *entry, void (**call)(void))
{
	struct link_map *map = dlopen(libraries[which], RTLD_NOW);

	*call = map ? (void (*)(void))dlsym(map, entry) : NULL;
	if (!*call) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return map;
}

FRAME static void run(void)
{
	void (*call)(void);
	struct link_map *map = load(0, "late_entry", &call);
	uintptr_t before = map->l_addr;

	for (uint64_t i = 0; i < n; i++)
		call();
	dlclose(map);
	map = load(1, "next_entry", &call);
	if (map->l_addr != before) {
		fprintf(stderr, "the libraries are at different addresses\n");
		exit(1);
	}
	printf("swapped\n");
	work_pause();
	for (uint64_t i = 0; i < n; i++)
		call();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 3, "FIRST SECOND N");
	libraries = argv;
	n = work_number(argv[2]);
	work_run(run);
	work_expect("late_entry;late_hit", n);
	work_expect("next_entry;next_hit", n);
	return 0;
}
