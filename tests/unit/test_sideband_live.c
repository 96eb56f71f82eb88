/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Real processes, as the running kernel tells of them. Needs root. That their mappings are told,
 * with build IDs, is for test_lives.py.
 */
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

#include "kernel/host.h"
#include "processes/sideband.h"

extern char **environ;

/* A ring for 3,000 processes: others may be busy, too, while a test is not. */
#define AMPLE (4u << 20)

/* What was told, with copies of what was lent. */
struct log {
	struct process_event *events;
	size_t n, capacity;
	uint64_t n_lost;
};

static int note(void *context, const struct process_event *event)
{
	struct log *log = context;
	struct process_event copy = *event;

	copy.comm = event->comm ? xstrdup(event->comm) : NULL;
	copy.map.path = NULL;
	copy.build_id = NULL;
	if (event->type == PROCESS_LOST)
		log->n_lost += event->n_lost;
	array_push(log->events, log->n, log->capacity, copy);
	return 0;
}

static void log_fini(struct log *log)
{
	for (size_t i = 0; i < log->n; i++)
		free((void *)log->events[i].comm);
	free(log->events);
}

static struct sideband *follow(uint32_t ring_bytes)
{
	struct sideband *s;

	assert_works(sideband_open(ring_bytes, &s, &e));
	return s;
}

/* The next event of @pid and @type from *@at on. */
static const struct process_event *next(const struct log *log, size_t *at, uint32_t pid,
					enum process_event_type type)
{
	for (; *at < log->n; ++*at)
		if (log->events[*at].pid == pid && log->events[*at].type == type)
			return &log->events[(*at)++];
	return NULL;
}

static pid_t run_shell(void)
{
	char *const argv[] = { "sh", "-c", "true", NULL };
	int status;
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return pid;
}

/* All has been written when it is read: so there is none whose CPU could have been held up. */
TEST(events_of_all_cpus_are_in_order)
{
	struct sideband *s = follow(AMPLE);
	cleanup(log_fini) struct log log = {};
	pid_t pids[40];
	size_t at = 0;
	cpu_set_t all;
	int cpu = -1;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		cpu_set_t one;

		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		pids[i] = run_shell();
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(sideband_read(s, note, &log), 0);
	sideband_close(s);

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		assert_non_null(next(&log, &at, (uint32_t)pids[i], PROCESS_FORK));
		assert_non_null(next(&log, &at, (uint32_t)pids[i], PROCESS_EXIT));
	}
	for (size_t i = 1; i < log.n; i++)
		assert_true(log.events[i].time >= log.events[i - 1].time);
}

static void *exec_true(void *unused)
{
	(void)execl("/bin/true", "true", NULL);
	_exit(3);
}

/* The new program runs under the number of the first thread, which ends before. */
TEST(exec_by_another_thread_is_one_of_the_process)
{
	struct sideband *s = follow(AMPLE);
	cleanup(log_fini) struct log log = {};
	const struct process_event *event;
	size_t at = 0;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		(void)pthread_create(&thread, NULL, exec_true, NULL);
		for (;;)
			(void)pause();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sideband_read(s, note, &log), 0);
	sideband_close(s);

	event = next(&log, &at, (uint32_t)pid, PROCESS_EXIT);
	assert_true(event && event->tid == (uint32_t)pid);
	event = next(&log, &at, (uint32_t)pid, PROCESS_EXEC);
	assert_true(event && event->tid == (uint32_t)pid);
	assert_string_equal(event->comm, "true");
	event = next(&log, &at, (uint32_t)pid, PROCESS_EXIT);
	assert_true(event && event->tid == (uint32_t)pid);
}

/* All on one CPU, so that all is in one ring. */
TEST(a_full_ring_wakes_and_what_it_has_no_room_for_is_counted)
{
	struct sideband *s = follow(4096);
	struct pollfd wait = { .fd = sideband_fd(s), .events = POLLIN };
	cleanup(log_fini) struct log log = {};
	cpu_set_t before, one;
	int cpu = sched_getcpu();

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int i = 0; i < 20; i++)
		(void)run_shell();
	assert_int_equal(poll(&wait, 1, -1), 1);
	assert_int_equal(sideband_read(s, note, &log), 0);
	assert_true(sideband_until(s) >= log.events[0].time);

	uint32_t last = (uint32_t)run_shell();
	size_t at = 0;

	assert_int_equal(sideband_read(s, note, &log), 0);
	sideband_close(s);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_true(log.n_lost >= 20);
	while (at < log.n && log.events[at].type != PROCESS_LOST)
		at++;
	assert_true(at < log.n && log.events[at].since > 0);
	assert_true(log.events[at].since <= log.events[at].time);
	assert_non_null(next(&log, &at, last, PROCESS_FORK));
	assert_non_null(next(&log, &at, last, PROCESS_EXIT));
}

static int stop_at_second(void *n, const struct process_event *event)
{
	return ++*(int *)n == 2 ? -ECANCELED : 0;
}

TEST(records_that_nobody_has_time_for_are_one_loss)
{
	struct sideband *s = follow(AMPLE);
	cleanup(log_fini) struct log log = {};
	size_t at = 0;
	uint32_t pid;
	int n = 0;

	(void)run_shell();
	assert_int_equal(sideband_read(s, stop_at_second, &n), -ECANCELED);
	sideband_drop(s, note, &log);
	assert_int_equal(log.n, 1);
	assert_int_equal(log.events[0].type, PROCESS_LOST);
	assert_true(log.n_lost > 0 && log.events[0].since < log.events[0].time);
	pid = (uint32_t)run_shell();
	assert_int_equal(sideband_read(s, note, &log), 0);
	assert_non_null(next(&log, &at, pid, PROCESS_FORK));
	assert_non_null(next(&log, &at, pid, PROCESS_EXIT));
	sideband_close(s);
}

TEST_MAIN(NULL, NULL)
