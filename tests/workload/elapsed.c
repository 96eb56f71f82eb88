// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elapsed KIND N - calls whose time it knows, by two paths, N times each:
 *
 * KIND    branch_a;hit;work           branch_b;middle;hit;work
 *  sleep  nanosleep(200 us)           nanosleep(50 us)
 *  ppid   getppid()                   getppid()
 *
 * It says two lines more, "time PATH LEAST MOST": the nanoseconds of all calls by a path. They took
 * at least what was asked for, and at most what the clock says around the calls of work(). A third
 * line is "life WALL CPU SWITCHES": the nanoseconds in which run() went on, those of them on a CPU,
 * and how often its threads left the CPU.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "work.h"

static enum { KIND_SLEEP, KIND_PPID } kind;
static uint64_t n_calls;

/* By path, a then b. */
static const long asked_ns[] = { 200000, 50000 };
static uint64_t most_ns[2];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void work(int path);

FRAME void work(int path)
{
	const struct timespec ask = { .tv_nsec = asked_ns[path] };

	if (kind == KIND_PPID)
		GETPPID();
	else
		raw_syscall3(SYS_nanosleep, (long)&ask, 0, 0);
	STAY();
}

FRAME static void hit(int path)
{
	const uint64_t begin = now_ns();

	work(path);
	__atomic_fetch_add(&most_ns[path], now_ns() - begin, __ATOMIC_RELAXED);
	STAY();
}

FRAME static void branch_a(void) CALLS(hit(0));

FRAME static void middle(void) CALLS(hit(1));

FRAME static void branch_b(void) CALLS(middle());

/* Of all threads together, while they ran. */
static uint64_t wall_ns, cpu_ns, n_switches;

struct life {
	uint64_t wall_ns, cpu_ns, n_switches;
};

static struct life life_now(void)
{
	struct timespec cpu;
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return (struct life){ now_ns(), (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec,
			      (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw) };
}

static void add_life(const struct life *before)
{
	const struct life now = life_now();

	__atomic_fetch_add(&wall_ns, now.wall_ns - before->wall_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cpu_ns, now.cpu_ns - before->cpu_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&n_switches, now.n_switches - before->n_switches, __ATOMIC_RELAXED);
}

FRAME static void run(void)
{
	const struct life before = life_now();

	for (uint64_t i = 0; i < n_calls; i++) {
		branch_a();
		branch_b();
	}
	add_life(&before);
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 2, "KIND N");
	kind = strcmp(argv[0], "ppid") == 0;
	n_calls = work_number(argv[1]);
	work_run(run);
	work_expect("branch_a;hit;work", n_calls);
	work_expect("branch_b;middle;hit;work", n_calls);
	for (int path = 0; path < 2; path++)
		printf("time %c %llu %llu\n", "ab"[path],
		       (unsigned long long)n_calls * (kind == KIND_SLEEP ? asked_ns[path] : 0),
		       (unsigned long long)most_ns[path]);
	printf("life %llu %llu %llu\n", (unsigned long long)wall_ns, (unsigned long long)cpu_ns,
	       (unsigned long long)n_switches);
	return 0;
}
