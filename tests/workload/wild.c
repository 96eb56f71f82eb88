// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* wild N - N children, each of which jumps to an address where nothing is: 0, 1, 2 ... */
#include <sys/wait.h>

#include "work.h"

static uint64_t n_children;

FRAME static void jump_to(uint64_t address) CALLS(((void (*)(void))(uintptr_t)address)());

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			jump_to(i);
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n_children = work_number(argv[0]);
	work_run(run);
	return 0;
}
