// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * spawn HOW CHILDREN N - CHILDREN short-lived children, one after another,
 * each of which calls getppid() N times; HOW is 'fork', or 'exec': children that
 * run this program anew.
 */
#include <sys/wait.h>

#include "work.h"

static uint64_t n_children, n;
static const char *n_text;
static int does_exec;

FRAME static void hit(void)
{
	GETPPID();
	STAY();
}

FRAME static void child(void)
{
	for (uint64_t i = 0; i < n; i++)
		hit();
	STAY();
}

FRAME static void start_one(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (does_exec)
			execl("/proc/self/exe", "spawned", "child", "0", n_text, NULL);
		child();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		exit(1);
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n_children; i++)
		start_one();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 3, "fork|exec CHILDREN N");
	does_exec = strcmp(argv[0], "exec") == 0;
	n_children = work_number(argv[1]);
	n_text = argv[2];
	n = work_number(n_text);
	if (strcmp(argv[0], "child") == 0) {
		child();
		return 0;
	}
	work_run(run);
	if (does_exec)
		work_expect_at("main;child;hit", n_children * n);
	else
		work_expect("start_one;child;hit", n_children * n);
	return 0;
}
