// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * makers N - in three functions, N times each: a thread by pthread_create(), processes by
 * posix_spawn(), as popen() and system() make them, and by fork().
 */
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "work.h"

extern char **environ;

static uint64_t n;

static void require(int holds)
{
	if (!holds)
		exit(1);
}

static void *thread(void *argument)
{
	return argument;
}

FRAME static void by_thread(void)
{
	pthread_t t;

	require(pthread_create(&t, NULL, thread, NULL) == 0 && pthread_join(t, NULL) == 0);
	STAY();
}

FRAME static void by_spawn(void)
{
	char *const arguments[] = { "sh", "-c", "exit 0", NULL };
	int status = 1;
	pid_t pid;

	require(posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) == 0);
	require(waitpid(pid, &status, 0) == pid && status == 0);
	STAY();
}

FRAME static void by_fork(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	require(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		by_thread();
		by_spawn();
		by_fork();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("by_thread", n);
	work_expect("by_spawn", n);
	work_expect("by_fork", n);
	return 0;
}
