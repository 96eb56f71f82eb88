// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * spawn RATE SECONDS PROGRAM [ARGUMENT...] - after a byte on standard input, start PROGRAM by
 * posix_spawn(3) RATE times a second for SECONDS, and wait for the end of all. Print their number,
 * how long it took, and the CPU time for each. That includes our time to start it and to wait for
 * it.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static double cpu_us(int who)
{
	struct rusage used;

	(void)getrusage(who, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void start(char **argv)
{
	static char *environment[] = { NULL };
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environment))
		exit(1);
}

/* Start @rate processes a second. After a delay, start the missing ones at once. */
static long start_all(long rate, long seconds, char **argv)
{
	const uint64_t begin = now_ns();
	long n = 0;

	for (long ms = 1; ms <= 1000 * seconds; ms++) {
		for (; n < rate * ms / 1000; n++)
			start(argv);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sleep_until(begin + (uint64_t)ms * 1000000);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return n;
}

int main(int argc, char **argv)
{
	char byte;

	if (argc < 4)
		return 2;
	(void)puts("ready");
	(void)fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 2;

	const uint64_t begin = now_ns();
	const long n = start_all(atol(argv[1]), atol(argv[2]), argv + 3);

	(void)printf("processes %ld seconds %.3f us %.1f\n", n, (double)(now_ns() - begin) / 1e9,
		     (cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN)) / (double)n);
	return 0;
}
