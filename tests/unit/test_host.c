/* rooms: kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "children.h"
#include "scratch.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "kernel/host.h"

static int make_host(void **state)
{
	*state = host_new_at(&(struct host_paths){ .tracefs = scratch_lent("tracefs") });
	return 0;
}

static int free_host(void **state)
{
	host_freep((struct host **)state);
	return 0;
}

#define TEST_OF_MADE_HOST(name) TEST_OF(name, struct host *host, make_host, free_host)

static int make_tracefs(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	scratch_write("tracefs/events/header_page", "not a category\n");
	scratch_write("tracefs/events/enable", "0\n");
	scratch_write("tracefs/events/sched/enable", "0\n");
	scratch_write("tracefs/events/sched/sched_switch/id", "372\n");
	scratch_write("tracefs/events/sched/sched_wakeup/id", "370\n");
	scratch_write("tracefs/events/sched/sched_odd/id", "none\n");
	scratch_write("tracefs/events/ftrace/function/id", "1\n");
	scratch_write("tracefs/events/net/netif_rx/id", "9\n");
	return 0;
}

/* Names that lead out of tracefs are no tracepoints. */
TEST_OF_MADE_HOST(a_tracepoint_has_an_id_and_an_unknown_one_is_named)
{
	static const char *const unknown[][2] = { { "..", "events/sched/sched_switch" },
						  { "sched/sched_switch", "." },
						  { "", "sched" },
						  { "sched", "sched_swich" } };
	uint64_t id = 0;
	struct error e;

	assert_ok(host_tracepoint_id(host, "sched", "sched_switch", &id, &e), e);
	assert_int_equal(id, 372);
	assert_int_equal(host_tracepoint_id(host, "sched", "sched_odd", &id, NULL), -EIO);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_int_equal(host_tracepoint_id(host, unknown[i][0], unknown[i][1], &id, &e),
				 -ENOENT);
	assert_string_equal(e.text, "no tracepoint sched:sched_swich");
}

struct names {
	char text[4096];
	size_t n, stop_at;
};

static int take_tracepoint(void *context, const char *category, const char *event)
{
	struct names *names = context;

	(void)snprintf(names->text + strlen(names->text), sizeof(names->text) - strlen(names->text),
		       "%s:%s ", category, event);
	return ++names->n == names->stop_at ? 77 : 0;
}

TEST(this_kernels_tracefs_is_read_although_nothing_is_mounted)
{
	cleanup(host_freep) struct host *host = host_new();
	char before[16384] = "", after[16384] = "";
	struct names names = {};
	uint64_t id = 0;

	cleanup_fclose FILE *mounts = fopen("/proc/self/mountinfo", "r");
	assert_non_null(mounts);
	(void)!fread(before, 1, sizeof(before) - 1, mounts);

	assert_works(host_tracepoint_id(host, "sched", "sched_switch", &id, &e));
	assert_true(id > 0);
	names.stop_at = 50;
	assert_int_equal(host_each_tracepoint(host, take_tracepoint, &names, NULL), 77);
	assert_int_equal(host_tracepoint_id(host, "sched", "nothing", &id, NULL), -ENOENT);

	rewind(mounts);
	(void)!fread(after, 1, sizeof(after) - 1, mounts);
	assert_string_equal(before, after);
}

static void *thread_number(void *number)
{
	*(uint32_t *)number = (uint32_t)syscall(SYS_gettid);
	assert_false(host_pid_exists(*(uint32_t *)number));
	return NULL;
}

TEST(a_process_exists_and_a_thread_is_none)
{
	uint32_t thread_id = 0;
	pthread_t thread;

	assert_true(host_pid_exists((uint32_t)getpid()));
	assert_true(host_pid_exists(1));
	assert_false(host_pid_exists((uint32_t)child_gone()));
	assert_false(host_pid_exists(0));
	assert_false(host_pid_exists(UINT32_MAX));
	assert_int_equal(pthread_create(&thread, NULL, thread_number, &thread_id), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(thread_id != 0 && thread_id != (uint32_t)getpid());
}

TEST(a_process_has_a_name_while_it_lives)
{
	char comm[17];

	host_pid_comm((uint32_t)getpid(), comm, sizeof(comm));
	assert_string_equal(comm, "test_host");
	host_pid_comm(UINT32_MAX, comm, sizeof(comm));
	assert_string_equal(comm, "");
}

TEST(the_type_of_a_source_of_events_is_in_sysfs)
{
	assert_int_equal(host_pmu_type("software"), PERF_TYPE_SOFTWARE);
	assert_int_equal(host_pmu_type("no_such_source"), 0);
	assert_true(host_can_sample(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK));
	assert_false(host_can_sample(PERF_TYPE_SOFTWARE, UINT32_MAX));
}

TEST(the_possible_cpus_are_those_of_the_c_library)
{
	uint32_t n = 0;

	assert_works(host_possible_cpus(&n, &e));
	assert_int_equal(n, get_nprocs_conf());
}

TEST_MAIN(make_tracefs, scratch_remove)
