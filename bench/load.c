// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * load getppid|udp|call COUNT [CPU [MORE]] - make COUNT events below five user frames and MORE, and
 * print the nanoseconds that one takes. That is the median of many slices, in CPU time of this
 * thread, so other programs on the machine disturb it little. load has frame pointers, load-nofp
 * has none.
 *
 * load-paths[-nofp] paths COUNT [CPU] - the same: getppid() below eight of 10,000 frames (paths.c).
 *
 * load paced RATE SECONDS CPU - make RATE getppid() events a second, a part of them each
 * millisecond. Print their number and how long it took.
 *
 * load wait ... - print "ready", wait for a byte on standard input, then go on as without "wait".
 *
 * load now - print the time in ns of CLOCK_MONOTONIC, for tracers that start a command when they
 * are ready.
 *
 * load sleep - print "ready", and wait for the end of standard input.
 */
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICES 40

static int udp_socket = -1;

static uint64_t time_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* Make the system call here, not in libc, so that every frame has a frame pointer. */
__attribute__((noinline)) static long call(long number)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(number) : "rcx", "r11", "memory");
	return ret;
}

/* load-many has 9,999 more of these (many.c). */
__attribute__((noinline, weak)) void function_0000(void)
{
	__asm__ volatile("");
}

/* load-paths replaces this: it makes a getppid() below eight of 10,000 functions (paths.c). */
__attribute__((noinline, weak)) void follow_path(long turn)
{
	(void)turn;
	abort();
}

enum kind { GETPPID, UDP, CALL, PATHS };

__attribute__((noinline)) static void event(enum kind kind)
{
	char buffer[16] = "";

	if (kind == GETPPID) {
		call(SYS_getppid);
	} else if (kind == CALL) {
		function_0000();
	} else if (send(udp_socket, buffer, 1, 0) == 1) {
		if (recv(udp_socket, buffer, sizeof(buffer), 0) != 1)
			abort();
	}
	__asm__ volatile("");
}

__attribute__((noinline)) static void c(enum kind kind)
{
	event(kind);
	__asm__ volatile("");
}

__attribute__((noinline)) static void b(enum kind kind)
{
	c(kind);
	__asm__ volatile("");
}

__attribute__((noinline)) static void a(enum kind kind)
{
	b(kind);
	__asm__ volatile("");
}

__attribute__((noinline)) static void deeper(enum kind kind, int more)
{
	if (more)
		deeper(kind, more - 1);
	else
		a(kind);
	__asm__ volatile("");
}

static void open_udp(void)
{
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(self);

	udp_socket = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(udp_socket, (struct sockaddr *)&self, sizeof(self)) ||
	    getsockname(udp_socket, (struct sockaddr *)&self, &size) ||
	    connect(udp_socket, (struct sockaddr *)&self, size))
		abort();
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		abort();
}

static int compare(const void *left, const void *right)
{
	const double *l = left, *r = right;

	return (*l > *r) - (*l < *r);
}

static void make(enum kind kind, long turn, int more)
{
	if (kind == PATHS)
		follow_path(turn);
	else if (more)
		deeper(kind, more - 1);
	else
		a(kind);
}

static double measure(enum kind kind, long n, int more)
{
	double slices[SLICES];

	for (int s = 0; s < SLICES; s++) {
		uint64_t start = time_ns(CLOCK_THREAD_CPUTIME_ID);

		for (long i = 0; i < n / SLICES; i++)
			make(kind, i, more);
		slices[s] =
			(double)(time_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(n / SLICES);
	}
	qsort(slices, SLICES, sizeof(*slices), compare);
	return slices[SLICES / 2];
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* Make RATE events a second. After a delay, make the missing ones at once. */
static int make_paced(long rate, long seconds)
{
	const uint64_t start = time_ns(CLOCK_MONOTONIC);
	long n = 0;

	for (long ms = 1; ms <= 1000 * seconds; ms++) {
		for (; n < rate * ms / 1000; n++)
			a(0);
		sleep_until(start + (uint64_t)ms * 1000000);
	}
	(void)printf("events %ld seconds %.3f\n", n,
		     (double)(time_ns(CLOCK_MONOTONIC) - start) / 1e9);
	return 0;
}

static int say_now(void)
{
	(void)printf("%llu\n", (unsigned long long)time_ns(CLOCK_MONOTONIC));
	return 0;
}

static int wait_for_go(void)
{
	char byte;

	(void)puts("ready");
	(void)fflush(stdout);
	return read(0, &byte, 1) != 1;
}

static int wait_for_end(void)
{
	char byte;

	(void)puts("ready");
	(void)fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

static enum kind kind_called(const char *name)
{
	static const char *const names[] = { "getppid", "udp", "call", "paths" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return (enum kind)i;
	return GETPPID;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "wait")) {
		if (wait_for_go())
			return 2;
		argc--;
		argv++;
	}
	if (argc == 2 && !strcmp(argv[1], "now"))
		return say_now();
	if (argc == 2 && !strcmp(argv[1], "sleep"))
		return wait_for_end();
	if (argc == 5 && !strcmp(argv[1], "paced")) {
		pin(atoi(argv[4]));
		return make_paced(atol(argv[2]), atol(argv[3]));
	}
	if (argc < 3)
		return 2;

	enum kind kind = kind_called(argv[1]);
	long n = atol(argv[2]);

	if (n < SLICES)
		return 2;
	if (argc > 3)
		pin(atoi(argv[3]));
	if (kind == UDP)
		open_udp();
	for (long i = 0; i < n / 10; i++)
		make(kind, i, 0);
	(void)printf("ns %.1f\n", measure(kind, n, argc > 4 ? atoi(argv[4]) : 0));
	return 0;
}
