/* rooms: base attach arch */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* On the running kernel, as root: what is written to tracefs' uprobe_events, and what is left. */
#include "test.h"

#include <sched.h>
#include <sys/mount.h>

#include "attach/definitions.h"
#include "attach/plan.h"
#include "unit/scratch.h"

#define PROGRAM "/proc/self/exe"
#define SOMEWHERE 0x1000 /* an offset; nothing is probed here */

static int tracefs = -1;

/* tracefs, for this program alone, as it may not be mounted. */
static int prepare(void **state)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL) < 0 && errno != EBUSY)
		return -1;
	tracefs = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return tracefs < 0 ? -1 : scratch_make(state);
}

/* How many lines there are of process @pid; the last one is left in @line. */
static int lines_of(pid_t pid, char line[4096])
{
	cleanup_fclose FILE *f = fopen("/sys/kernel/tracing/uprobe_events", "r");
	char group[64], one[4096];
	int n = 0;

	assert_non_null(f);
	(void)snprintf(group, sizeof(group), "p:stackcount_%d_", (int)pid);
	while (fgets(one, sizeof(one), f)) {
		if (strncmp(one, group, strlen(group)) != 0)
			continue;
		n++;
		memcpy(line, one, sizeof(one));
	}
	return n;
}

TEST(an_event_has_many_places_and_one_number)
{
	struct definitions *d = definitions_open(tracefs);
	char line[4096];
	uint64_t first, second;

	assert_non_null(d);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(definitions_add(d, PROGRAM, SOMEWHERE + i, 0), 0);
	assert_int_equal(definitions_id(d, &first), 0);
	assert_int_equal(lines_of(getpid(), line), 5);
	definitions_keep(d);
	assert_int_equal(definitions_add(d, PROGRAM, SOMEWHERE + 5, 0x1e2c04), 0);
	assert_int_equal(definitions_id(d, &second), 0);
	assert_int_not_equal(first, second);
	assert_int_equal(lines_of(getpid(), line), 6);
	assert_non_null(strstr(line, "/e1 "));
	assert_non_null(strstr(line, "(0x1e2c04)"));
	definitions_free(d);
	assert_int_equal(lines_of(getpid(), line), 0);
}

TEST(a_dropped_one_leaves_its_name_to_the_next)
{
	struct definitions *d = definitions_open(tracefs);
	char line[4096];
	uint64_t id;

	assert_non_null(d);
	assert_int_equal(definitions_add(d, PROGRAM, SOMEWHERE, 0), 0);
	assert_int_equal(definitions_add(d, "/nonexistent/lib.so", SOMEWHERE, 0), -ENOENT);
	assert_int_equal(lines_of(getpid(), line), 1);
	definitions_drop(d);
	assert_int_equal(lines_of(getpid(), line), 0);
	assert_int_equal(definitions_id(d, &id), -ENOENT);
	assert_int_equal(definitions_add(d, PROGRAM, SOMEWHERE + 1, 0), 0);
	assert_int_equal(lines_of(getpid(), line), 1);
	assert_non_null(strstr(line, "/e0 "));
	definitions_free(d);
	assert_int_equal(lines_of(getpid(), line), 0);
}

TEST(a_path_that_no_line_can_hold_is_a_place_all_the_same)
{
	static const char *const names[] = {
		"plain",        "a b",     "tab\tand\nnewline", "p:g/e 0x1",
		"#comment",     "%return", "\"quoted\"",        "back\\slash",
		"\xc2\x85\xa0", "$arg1",   "-:somebody/e",      "(0x10)",
	};
	struct definitions *d = definitions_open(tracefs);
	char line[4096];

	assert_non_null(d);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cleanup_free char *path = scratch_path(names[i]);

		scratch_write(names[i], "not empty");
		assert_int_equal(definitions_add(d, path, i, 0), 0);
		assert_int_equal(lines_of(getpid(), line), (int)i + 1);
	}
	definitions_free(d);
	assert_int_equal(lines_of(getpid(), line), 0);
}

TEST(a_path_longer_than_a_line_is_a_place)
{
	struct definitions *d = definitions_open(tracefs);
	cleanup_free char *path = scratch_path("long");
	char name[201], line[4096];

	assert_non_null(d);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	while (strlen(path) < 3800) {
		cleanup_free char *folder = TAKE(path);

		(void)mkdir(folder, 0755);
		path = xasprintf("%s/%s", folder, name);
	}
	scratch_write(path + strlen(scratch) + 1, "not empty");
	assert_int_equal(definitions_add(d, path, 0, 0), 0);
	assert_int_equal(lines_of(getpid(), line), 1);
	definitions_free(d);
}

/* A process that has defined something, and waits to be ended. */
static pid_t definer(void)
{
	int fds[2];
	char byte;

	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct definitions *d = definitions_open(tracefs);

		for (uint64_t i = 0; d && i < 50; i++) {
			if (definitions_add(d, PROGRAM, SOMEWHERE + i, 0) < 0)
				_exit(1);
			if (i % 10 == 9)
				definitions_keep(d);
		}
		(void)!write(fds[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

TEST(they_go_with_their_process_and_no_other_does)
{
	struct definitions *d = definitions_open(tracefs);
	char line[4096];

	assert_non_null(d);
	assert_int_equal(definitions_add(d, PROGRAM, SOMEWHERE, 0), 0);
	pid_t pid = definer();
	assert_int_equal(lines_of(pid, line), 50);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; lines_of(pid, line) && i < 1000; i++)
		usleep(10000);
	assert_int_equal(lines_of(pid, line), 0);
	assert_int_equal(lines_of(getpid(), line), 1);
	definitions_free(d);
	assert_int_equal(lines_of(getpid(), line), 0);
}

TEST(where_there_is_no_tracefs_nothing_is_defined)
{
	cleanup_close int elsewhere = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_null(definitions_open(elsewhere));
	assert_null(definitions_open(-1));
	definitions_free(NULL);
}

TEST_MAIN(prepare, scratch_remove)
