/* rooms: symbolize kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Maps of a child that waits: of its number in /tmp, where a compiler would write them. */
#include "test.h"

#include "children.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "files.h"
#include "files/files.h"
#include "symbolize/jit.h"

struct fixture {
	struct processes *processes;
	struct jit *jit;
	pid_t child;
	char map[64];
	struct program_run process;
};

static void end_child(struct fixture *f)
{
	if (f->child)
		child_end(f->child);
	f->child = 0;
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->processes = processes_new(files_of_test());
	f->jit = jit_new(processes_images(f->processes));
	f->child = child_start();
	(void)snprintf(f->map, sizeof(f->map), "/tmp/perf-%d.map", f->child);
	(void)unlink(f->map);
	f->process = (struct program_run){
		.tgid = (uint32_t)f->child, .user = USER_UNKNOWN, .end = UINT64_MAX, .root = -1
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	end_child(f);
	(void)unlink(f->map);
	jit_free(f->jit);
	processes_free(f->processes);
	free(f);
	return 0;
}

#define TEST_WITH_FIXTURE(name) TEST_OF(name, struct fixture *f, set_up, tear_down)

static void write_map(const struct fixture *f, const char *mode, const char *text)
{
	FILE *file = fopen(f->map, mode);

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void expect_at(struct fixture *f, uint64_t addr, uint64_t time, const char *name)
{
	struct jit_function function = { .name = "" };

	if (jit_at(f->jit, &f->process, addr, time, &function))
		assert_string_equal(function.module, strrchr(f->map, '/') + 1);
	assert_string_equal(function.name, name);
}

static void set_changed(const struct fixture *f, int64_t seconds)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = time(NULL) + seconds } };

	assert_int_equal(utimensat(AT_FDCWD, f->map, times, 0), 0);
}

/* Each report reads the map once. */
static void expect_in_report(struct fixture *f, uint64_t addr, const char *name)
{
	jit_refresh(f->jit);
	expect_at(f, addr, 0, name);
}

TEST_WITH_FIXTURE(each_report_looks_once)
{
	expect_at(f, 0x1000, 0, "");
	write_map(f, "w", "1000 10 a\n2000 10 b");
	expect_at(f, 0x1000, 0, "");
	expect_in_report(f, 0x1008, "a");
	expect_at(f, 0x2000, 0, "");
	write_map(f, "a", "\n3000 10 c\n");
	expect_at(f, 0x3000, 0, "");
	expect_in_report(f, 0x2000, "b");
	expect_at(f, 0x3000, 0, "c");
	expect_at(f, 0x3010, 0, "");
}

/* Events are printed without reports. */
TEST_WITH_FIXTURE(a_hit_a_while_after_the_last_look_causes_another_one)
{
	const uint64_t later = now() + 3600 * NS_PER_S;

	expect_at(f, 0x1000, 0, "");
	write_map(f, "w", "1000 10 a\n");
	expect_at(f, 0x1000, 1, "");
	expect_at(f, 0x1000, later, "a");
}

/* In place and longer, in place and shorter, as another file. */
TEST_WITH_FIXTURE(a_file_that_is_written_anew_is_read_anew)
{
	cleanup_free char *saved = xasprintf("%s.old", f->map);

	for (uint64_t way = 1; way <= 3; way++) {
		cleanup_free char *old = xasprintf("%lu000 10 old\n%lu100 10 old_too\n", way, way);
		cleanup_free char *new = xasprintf("%lu000 10 new\n", way);

		write_map(f, "w", old);
		expect_in_report(f, way << 12, "old");
		if (way == 3)
			assert_int_equal(rename(f->map, saved), 0);
		write_map(f, "w", new);
		if (way == 1)
			write_map(f, "a", "9000 10 more\n9100 10 and_more\n");
		expect_in_report(f, way << 12, "new");
		expect_at(f, (way << 12) + 0x100, 0, "");
	}
	assert_int_equal(unlink(saved), 0);
}

TEST_WITH_FIXTURE(a_large_file_is_read_to_its_end)
{
	cleanup_free char *first = xasprintf("n%0180d", 0), *last = xasprintf("n%0180d", 99999);
	cleanup_fclose FILE *file = fopen(f->map, "w");

	for (int i = 0; i < 100000; i++)
		assert_true(fprintf(file, "%x 10 n%0180d\n", 0x1000 + 16 * i, i) > 0);
	assert_int_equal(fflush(file), 0);
	expect_in_report(f, 0x1000, first);
	expect_at(f, 0x1000 + 16 * 99999, 0, last);
}

/* /tmp/perf-7.map of another process that had the number. */
TEST_WITH_FIXTURE(a_file_older_than_the_process_is_not_its_own)
{
	write_map(f, "w", "1000 10 another\n");
	set_changed(f, -100);
	expect_in_report(f, 0x1000, "");
	write_map(f, "w", "1000 10 own\n");
	expect_in_report(f, 0x1000, "own");
}

/* The kernel dates files by the last tick, which may be late. */
TEST_WITH_FIXTURE(a_file_may_be_dated_a_little_before_the_process)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	f->process.begin = now();
	write_map(f, "w", "1000 10 own\n");

	const uint64_t dated = clock_ns(CLOCK_REALTIME) - NS_PER_S / 20;

	times[1] = (struct timespec){ (time_t)(dated / NS_PER_S), (long)(dated % NS_PER_S) };
	assert_int_equal(utimensat(AT_FDCWD, f->map, times, 0), 0);
	expect_in_report(f, 0x1000, "own");
}

/* It may have been written a moment before the exec. */
TEST_WITH_FIXTURE(a_program_has_no_map_of_the_one_before)
{
	write_map(f, "w", "1000 10 before\n");
	expect_in_report(f, 0x1000, "before");
	f->process.begin = now();
	jit_ended(f->jit, f->process.tgid, f->process.begin);
	expect_in_report(f, 0x1000, "");
	write_map(f, "w", "1000 10 own_code\n");
	expect_in_report(f, 0x1000, "own_code");
}

TEST_WITH_FIXTURE(a_map_is_read_at_the_end_and_outlives_the_process)
{
	write_map(f, "w", "1000 10 a\n");
	jit_watch(f->jit, &f->process);
	end_child(f);
	jit_ended(f->jit, f->process.tgid, now() + NS_PER_S);
	(void)unlink(f->map);
	expect_in_report(f, 0x1000, "a");
}

TEST_WITH_FIXTURE(what_a_report_read_outlives_the_file)
{
	write_map(f, "w", "1000 10 a\n");
	expect_in_report(f, 0x1000, "a");
	(void)unlink(f->map);
	expect_in_report(f, 0x1000, "a");
	end_child(f);
	jit_ended(f->jit, f->process.tgid, now());
	expect_in_report(f, 0x1000, "a");
}

TEST_WITH_FIXTURE(what_was_written_after_the_end_is_not_taken)
{
	write_map(f, "w", "1000 10 a\n");
	expect_in_report(f, 0x1000, "a");
	write_map(f, "w", "1000 10 b\n");
	set_changed(f, 100);
	jit_ended(f->jit, f->process.tgid, now());
	expect_in_report(f, 0x1000, "a");
}

/* Read when the next process had written there. */
TEST_WITH_FIXTURE(what_was_read_after_the_end_is_forgotten)
{
	const uint64_t end = now();

	write_map(f, "w", "1000 10 of_the_next\n");
	set_changed(f, 100);
	expect_in_report(f, 0x1000, "of_the_next");
	jit_ended(f->jit, f->process.tgid, end);
	expect_in_report(f, 0x1000, "");
}

TEST_WITH_FIXTURE(a_process_that_has_gone_is_named_by_its_users_file)
{
	write_map(f, "w", "1000 10 a\n");
	end_child(f);
	f->process.end = now() + NS_PER_S;
	f->process.user = geteuid();
	f->process.begin = now() - NS_PER_S;
	jit_watch(f->jit, &f->process); /* its end was known before its first hit */
	(void)unlink(f->map);
	expect_at(f, 0x1000, 0, "a");
}

TEST_WITH_FIXTURE(a_process_that_has_gone_gets_no_file_from_after_its_end)
{
	write_map(f, "w", "1000 10 a\n");
	end_child(f);
	f->process.user = geteuid();
	f->process.end = now() - NS_PER_S;
	f->process.begin = f->process.end - NS_PER_S;
	expect_in_report(f, 0x1000, "");
}

/* The messages of @does, to free(). */
static char *said_by(void (*does)(struct fixture *f), struct fixture *f)
{
	struct strbuf held = {};
	char *text;

	log_hold(&held);
	does(f);
	text = xstrdup(held.text ? held.text : "");
	log_release();
	return text;
}

static void ask_three_times(struct fixture *f)
{
	for (int i = 0; i < 3; i++)
		expect_in_report(f, 0x1000, "");
}

/* What is refused is said, once. */
static void expect_refused(struct fixture *f, const char *words)
{
	cleanup_free char *text = said_by(ask_three_times, f);

	if (!strstr(text, words) || !strstr(text, f->map))
		fail_msg("'%s' instead of '%s'", text, words);
	assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n'));
}

TEST_WITH_FIXTURE(a_file_that_grows_too_large_is_known_as_it_was)
{
	write_map(f, "w", "2000 10 a\n");
	expect_in_report(f, 0x2000, "a");
	assert_int_equal(truncate(f->map, 2LL << 30), 0);
	expect_refused(f, "it is larger than 64 MiB");
	expect_in_report(f, 0x2000, "a");
}

TEST_WITH_FIXTURE(many_programs_take_bounded_memory)
{
	struct program_run other = f->process;

	write_map(f, "w", "1000 10 a\n");
	for (uint32_t i = 0; i < 3000; i++) {
		other.tgid = 0x7000000 + i;
		jit_watch(f->jit, &other);
		jit_ended(f->jit, other.tgid, now());
		if (i % 500 == 0)
			expect_in_report(f, 0x1000, "a");
	}
	end_child(f);
	expect_in_report(f, 0x1000, "a");
}

static void watch_many(struct fixture *f)
{
	struct program_run other = f->process;

	for (uint32_t i = 0; i < 5000; i++) {
		other.tgid = 0x7000000 + i;
		jit_watch(f->jit, &other);
		jit_ended(f->jit, other.tgid, now());
	}
}

/* Programs without one are forgotten in silence. */
TEST_WITH_FIXTURE(that_a_map_was_forgotten_is_said_once)
{
	cleanup_free char *none = said_by(watch_many, f);

	assert_string_equal(none, "");
	write_map(f, "w", "1000 10 a\n");
	expect_in_report(f, 0x1000, "a");

	cleanup_free char *text = said_by(watch_many, f);

	assert_non_null(strstr(text, "some were forgotten, and their functions may have no name"));
	assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n'));
}

TEST_MAIN(NULL, NULL)
