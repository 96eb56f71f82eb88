// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dl LIBRARY N - getppid() N times, a line on standard input, then N times from
 * LIBRARY (liblate.so), which is loaded only then.
 */
#include <dlfcn.h>

#include "work.h"

static const char *library;
static uint64_t n;

FRAME static void hit(void) CALLS(GETPPID());

FRAME static void run(void)
{
	void (*late_entry)(void);
	void *handle;

	for (uint64_t i = 0; i < n; i++)
		hit();
	printf("loading\n");
	work_pause();
	handle = dlopen(library, RTLD_NOW);
	late_entry = handle ? (void (*)(void))dlsym(handle, "late_entry") : NULL;
	if (!late_entry) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	for (uint64_t i = 0; i < n; i++)
		late_entry();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 2, "LIBRARY N");
	library = argv[0];
	n = work_number(argv[1]);
	work_run(run);
	work_expect("hit", n);
	work_expect("late_entry;late_hit", n);
	return 0;
}
