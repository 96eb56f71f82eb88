// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "work.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>

enum { MAX_THREADS = 64 };

static int cpus[MAX_THREADS];
static int n_cpus;
static bool wants_rename;
static bool is_quiet;
static pthread_barrier_t together;

uint64_t work_number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*text == '\0' || *end != '\0') {
		fprintf(stderr, "not a number: '%s'\n", text);
		exit(2);
	}
	return n;
}

static void parse_cpus(char *list)
{
	for (char *one = strtok(list, ","); one && n_cpus < MAX_THREADS; one = strtok(NULL, ","))
		cpus[n_cpus++] = (int)work_number(one);
}

void work_pause(void)
{
	char line[64];

	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

/* Names are looked up while the process lives: stay until told to go. */
static void linger(void)
{
	char line[64];

	printf("done\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
}

char **work_begin(int argc, char **argv, int n_wanted, const char *usage)
{
	bool wants_wait = false;
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--wait") == 0)
			wants_wait = true;
		else if (strcmp(argv[i], "--rename") == 0)
			wants_rename = true;
		else if (strcmp(argv[i], "--quiet") == 0)
			is_quiet = true;
		else if (strcmp(argv[i], "--cpus") == 0 && i + 1 < argc)
			parse_cpus(argv[++i]);
		else
			break;
	}
	if (argc - i < n_wanted) {
		fprintf(stderr, "usage: %s [--wait] [--cpus LIST] [--rename] [--quiet] %s\n",
			argv[0], usage);
		exit(2);
	}
	if (wants_wait) {
		printf("ready %d\n", (int)getpid());
		work_pause();
		atexit(linger);
	}
	return argv + i;
}

struct thread {
	pthread_t id;
	int cpu;
	void (*run)(void);
};

FRAME static void *work_thread(void *context)
{
	struct thread *t = context;
	cpu_set_t set;
	char name[16];

	CPU_ZERO(&set);
	CPU_SET(t->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0) {
		perror("sched_setaffinity");
		exit(1);
	}
	if (wants_rename) {
		snprintf(name, sizeof(name), "thread-%d", t->cpu);
		prctl(PR_SET_NAME, name);
	}
	pthread_barrier_wait(&together);
	t->run();
	STAY();
	return NULL;
}

FRAME void work_run(void (*run)(void))
{
	struct thread threads[MAX_THREADS];

	if (n_cpus == 0) {
		run();
		STAY();
		return;
	}
	pthread_barrier_init(&together, NULL, (unsigned)n_cpus);
	for (int i = 0; i < n_cpus; i++) {
		threads[i] = (struct thread){ .cpu = cpus[i], .run = run };
		if (pthread_create(&threads[i].id, NULL, work_thread, &threads[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < n_cpus; i++)
		pthread_join(threads[i].id, NULL);
}

void work_expect_at(const char *chain, uint64_t count)
{
	if (!is_quiet)
		printf("%s %llu\n", chain, (unsigned long long)count);
}

void work_expect(const char *chain, uint64_t count)
{
	const char *root = n_cpus ? "work_thread" : "main;work_run";
	uint64_t n_threads = n_cpus ? (uint64_t)n_cpus : 1;
	char whole[8 * 1024];

	snprintf(whole, sizeof(whole), "%s;run;%s", root, chain);
	work_expect_at(whole, count * n_threads);
}
