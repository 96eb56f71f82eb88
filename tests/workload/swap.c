/*
 * swap FIRST SECOND N ROUNDS - getppid() N times from library FIRST; it is unloaded, and SECOND
 * loaded in its place; a line on standard input; then N times from that. Then ROUNDS times more the
 * other one in the place of the one, and N times from it.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static char **libraries;
static uint64_t n, n_rounds;

FRAME static void *load(unsigned which, void (**call)(void))
{
	static const char *const entries[] = { "late_entry", "next_entry" };
	struct link_map *map = dlopen(libraries[which], RTLD_NOW);

	*call = map ? (void (*)(void))dlsym(map, entries[which]) : NULL;
	if (!*call) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return map;
}

/* Library @which comes to where @before was: that has gone. */
FRAME static void *put(unsigned which, struct link_map *before, void (**call)(void))
{
	const uintptr_t at = before->l_addr;
	struct link_map *map;

	dlclose(before);
	map = load(which, call);
	if (map->l_addr != at) {
		fprintf(stderr, "the libraries are at different addresses\n");
		exit(1);
	}
	return map;
}

FRAME static void run(void)
{
	void (*call)(void);
	struct link_map *map = load(0, &call);

	for (uint64_t i = 0; i < n; i++)
		call();
	map = put(1, map, &call);
	printf("swapped\n");
	work_pause();
	for (uint64_t i = 0; i < n; i++)
		call();
	for (uint64_t round = 0; round < n_rounds; round++) {
		map = put(round % 2, map, &call);
		for (uint64_t i = 0; i < n; i++)
			call();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 4, "FIRST SECOND N ROUNDS");
	libraries = argv;
	n = work_number(argv[2]);
	n_rounds = work_number(argv[3]);
	work_run(run);
	work_expect("late_entry;late_hit", n * (1 + (n_rounds + 1) / 2));
	work_expect("next_entry;next_hit", n * (1 + n_rounds / 2));
	return 0;
}
