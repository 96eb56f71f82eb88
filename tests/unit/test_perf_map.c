/* rooms: symbolize kernel processes reader helper unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "scratch.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "helper/seat.h"
#include "reader/asks.h"
#include "reader/perf_file.h"
#include "symbolize/perf_map.h"

/* --- the text --- */

static void add(struct perf_map *m, const char *text)
{
	perf_map_add(m, text, strlen(text));
}

/* What @text tells of @addr, "" for nothing; with the function's start behind a '@'. */
static char *told_of(const struct perf_map *m, uint64_t addr, uint64_t time)
{
	struct perf_map_function function;

	if (!perf_map_at(m, addr, time, &function))
		return xasprintf("%s", "");
	return xasprintf("%s@%llx", function.name, (unsigned long long)function.start);
}

static void expect_at(const struct perf_map *m, uint64_t addr, uint64_t time, const char *expected)
{
	cleanup_free char *told = told_of(m, addr, time);

	assert_string_equal(told, expected);
}

static int make_map(void **state)
{
	*state = perf_map_new();
	return 0;
}

static int free_map(void **state)
{
	perf_map_freep((struct perf_map **)state);
	return 0;
}

#define TEST_WITH_MAP(name) TEST_OF(name, struct perf_map *m, make_map, free_map)

static void expect_told(const char *text, uint64_t addr, const char *expected)
{
	cleanup(perf_map_freep) struct perf_map *m = perf_map_new();

	add(m, text);
	assert_false(perf_map_settle(m, 1, 2));
	expect_at(m, addr, 0, expected);
}

TEST(each_compiler_has_its_own_way_of_writing_numbers)
{
	expect_told("7fc008006040 1c4 JS:*f /srv/app.js:3:19\n", 0x7fc008006040,
		    "JS:*f /srv/app.js:3:19@7fc008006040");
	expect_told("0x00007fc5a8b2f0c0 0x0000000000000060 I2C/C2I adapters\n", 0x7fc5a8b2f11f,
		    "I2C/C2I adapters@7fc5a8b2f0c0");
	expect_told("00007F9C2A4B1230 5A void [app] Main::Run()\r\n", 0x7f9c2a4b1230,
		    "void [app] Main::Run()@7f9c2a4b1230");
	expect_told("  1000\t10   a name;of \033[31m words  \n", 0x1000,
		    "a name;of \033[31m words@1000");
	expect_told("fffffffffffffff0 f last\n", 0xfffffffffffffffe, "last@fffffffffffffff0");
}

TEST(past_the_end_there_is_no_name)
{
	static const char text[] = "1000 10 a\n1020 8 b\n";

	expect_told(text, 0xfff, "");
	expect_told(text, 0x1000, "a@1000");
	expect_told(text, 0x100f, "a@1000");
	expect_told(text, 0x1010, "");
	expect_told(text, 0x101f, "");
	expect_told(text, 0x1027, "b@1020");
	expect_told(text, 0x1028, "");
}

TEST(lines_of_another_form_are_counted_and_left_out)
{
	/* clang-format off */
	static const char *const lines[] = {
		"", "1000", "1000 10", "1000 10 ", "1000 10 \t\r", "1000 0 empty", "g000 10 a",
		"1000 1g a", "1000-1010 a", "00000000000001000 10 a",
		"1000 fffffffffffffff0 round", "\001\002\003",
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		cleanup(perf_map_freep) struct perf_map *m = perf_map_new();
		cleanup_free char *text = xasprintf("%s\n1000 10 good\n", lines[i]);

		add(m, text);
		(void)perf_map_settle(m, 1, 2);
		assert_int_equal(perf_map_garbage(m), 1);
		expect_at(m, 0x1008, 0, "good@1000");
		expect_at(m, 0x1010, 0, "");
	}
}

TEST_WITH_MAP(a_line_of_any_length_takes_bounded_memory)
{
	char zeros[4096] = "";

	add(m, "1000 10 ");
	for (int i = 0; i < 4096; i++)
		perf_map_add(m, zeros, sizeof(zeros));
	assert_true(perf_map_bytes(m) < 16384);
	add(m, "\n2000 10 next\n");
	(void)perf_map_settle(m, 1, 2);
	expect_at(m, 0x1000, 0, "");
	expect_at(m, 0x2000, 0, "next@2000");
	assert_int_equal(perf_map_garbage(m), 1);
}

TEST_WITH_MAP(a_line_counts_when_its_end_is_there)
{
	add(m, "1000 10 first\n2000 10 sec");
	assert_false(perf_map_settle(m, 1, 2));
	expect_at(m, 0x1000, 0, "first@1000");
	expect_at(m, 0x2000, 0, "");
	add(m, "ond\n");
	expect_at(m, 0x2000, 0, "");
	assert_false(perf_map_settle(m, 2, 3));
	expect_at(m, 0x2000, 0, "second@2000");
	assert_int_equal(perf_map_garbage(m), 0);
}

TEST(of_lines_that_overlap_the_later_one_tells)
{
	static const char within[] = "1000 100 a\n1040 20 b\n", over[] = "1040 20 b\n1000 100 a\n";
	static const char both[] = "1000 100 a\n1080 100 b\n1080 10 c\n";

	expect_told(within, 0x103f, "a@1000");
	expect_told(within, 0x1040, "b@1040");
	expect_told(within, 0x105f, "b@1040");
	expect_told(within, 0x1060, "a@1000");
	expect_told(over, 0x1050, "a@1000");
	expect_told(both, 0x107f, "a@1000");
	expect_told(both, 0x1080, "c@1080");
	expect_told(both, 0x1090, "b@1080");
	expect_told(both, 0x117f, "b@1080");
}

/* --- its changes --- */

TEST_WITH_MAP(what_is_told_first_was_there_before)
{
	add(m, "1000 10 a\n");
	assert_false(perf_map_settle(m, 0, 100));
	add(m, "2000 10 b\n");
	assert_false(perf_map_settle(m, 90, 200));
	expect_at(m, 0x1000, 5, "a@1000");
	expect_at(m, 0x2000, 5, "b@2000");
	assert_int_equal(perf_map_epoch(m, 5), perf_map_epoch(m, 300));
}

/* Told at some time from 90 to 200. */
TEST_WITH_MAP(a_function_in_the_place_of_another_counts_from_its_time_on)
{
	add(m, "1000 10 a\n1010 10 stays\n");
	assert_false(perf_map_settle(m, 0, 100));
	add(m, "1000 8 b\n");
	assert_true(perf_map_settle(m, 90, 200));
	expect_at(m, 0x1000, 5, "a@1000");
	expect_at(m, 0x1000, 90, "a@1000");
	expect_at(m, 0x1000, 150, "");
	expect_at(m, 0x1000, 200, "b@1000");
	expect_at(m, 0x1000, 0, "b@1000");
	expect_at(m, 0x1008, 150, "a@1000");
	expect_at(m, 0x1018, 150, "stays@1010");
	assert_true(perf_map_epoch(m, 90) < perf_map_epoch(m, 150));
	assert_true(perf_map_epoch(m, 150) < perf_map_epoch(m, 200));
	assert_int_equal(perf_map_epoch(m, 200), perf_map_epoch(m, 0));
}

TEST_WITH_MAP(many_that_follow_each_other_are_kept_apart)
{
	for (uint64_t i = 0; i < 100; i++) {
		cleanup_free char *text =
			xasprintf("1000 %llx f%llu\n", 0x100ULL - i, (unsigned long long)i);

		add(m, text);
		assert_int_equal(perf_map_settle(m, i * 10, i * 10 + 5), i > 0);
	}
	for (uint64_t i = 0; i < 100; i++) {
		cleanup_free char *name = xasprintf("f%llu@1000", (unsigned long long)i);

		expect_at(m, 0x1000, i * 10 + 7, name);
	}
	expect_at(m, 0x10ff, 2000, "f0@1000");
	expect_at(m, 0x10f0, 2000, "f15@1000");
}

TEST_WITH_MAP(the_same_again_changes_nothing)
{
	add(m, "1000 10 a\n");
	(void)perf_map_settle(m, 0, 100);
	add(m, "1000 10 a\n");
	assert_false(perf_map_settle(m, 90, 200));
	expect_at(m, 0x1000, 150, "a@1000");
	assert_int_equal(perf_map_epoch(m, 5), perf_map_epoch(m, 0));
}

TEST_WITH_MAP(a_file_that_begins_anew_is_all_there_is)
{
	add(m, "1000 10 a\n2000 10 b\n3000 1");
	(void)perf_map_settle(m, 0, 100);
	perf_map_restart(m);
	add(m, "1000 10 a\n");
	assert_true(perf_map_settle(m, 90, 200));
	expect_at(m, 0x1000, 150, "a@1000");
	expect_at(m, 0x2000, 90, "b@2000");
	expect_at(m, 0x2000, 150, "");
	expect_at(m, 0x2000, 0, "");
	add(m, "2000 10 b\n");
	(void)perf_map_settle(m, 190, 300);
	expect_at(m, 0x2000, 0, "b@2000");
	expect_at(m, 0x2000, 150, "b@2000"); /* the same before and after */
}

/* What was forgotten is not named by what came later. */
TEST_WITH_MAP(the_past_is_bounded)
{
	cleanup_strbuf struct strbuf text = {};
	uint64_t time = 10;

	for (int round = 0; round < 12; round++) {
		strbuf_clear(&text);
		for (int i = 0; i < 10000; i++)
			strbuf_printf(&text, "%x 10 f%d\n", 0x100000 + i * 16, round);
		perf_map_add(m, text.text, text.n);
		(void)perf_map_settle(m, time, time + 5);
		time += 10;
	}
	assert_true(perf_map_bytes(m) < 8U << 20);
	expect_at(m, 0x100000, time - 1, "f11@100000");
	expect_at(m, 0x100000, time - 11, "f10@100000");
	expect_at(m, 0x100000, 17, "");
}

TEST_WITH_MAP(a_million_lines_are_enough)
{
	cleanup_strbuf struct strbuf text = {};

	for (int i = 0; i < 1 << 16; i++)
		strbuf_printf(&text, "%x 8 same\n", i * 8);
	for (int i = 0; i < 16; i++) {
		assert_false(perf_map_is_full(m));
		perf_map_add(m, text.text, text.n);
		(void)perf_map_settle(m, 1, 2);
	}
	assert_true(perf_map_is_full(m));
	perf_map_add(m, "f0000000 10 more\n", 17);
	(void)perf_map_settle(m, 1, 2);
	expect_at(m, 0xf0000000, 0, "");
	assert_true(perf_map_bytes(m) < 16U << 20);
}

/* --- the file --- */

static int open_root(void)
{
	int fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Whether /tmp/perf-7.map of the folder is taken for @user's; "" or why not. */
static char *refusal(uint32_t user)
{
	cleanup_close int root = open_root();
	cleanup_close int fd = -1;
	struct stat st;
	struct error e;
	int err = perf_file_find(root, 7, user, &fd, &st, &e);

	assert_true(err == 0 || err == -ENOENT || err == -EPERM);
	if (!err)
		assert_true(S_ISREG(st.st_mode));
	return xasprintf("%s", err ? e.text : "");
}

static void expect_refusal(uint32_t user, const char *words)
{
	cleanup_free char *text = refusal(user);

	if (words[0] ? !strstr(text, words) : text[0] != '\0')
		fail_msg("'%s' instead of '%s'", text, words);
}

TEST(a_file_of_the_processs_user_is_taken)
{
	scratch_run("rm -rf tmp && mkdir tmp");
	expect_refusal(geteuid(), "there is none");
	scratch_write("tmp/perf-7.map", "1000 10 a\n");
	expect_refusal(geteuid(), "");
}

TEST(a_file_of_another_user_is_refused_and_roots_is_not)
{
	cleanup_free char *path = scratch_path("tmp/perf-7.map");

	scratch_run("rm -rf tmp && mkdir tmp");
	scratch_write("tmp/perf-7.map", "1000 10 a\n");
	if (geteuid() == 0) {
		expect_refusal(4243, "");
		assert_int_equal(chown(path, 4242, (gid_t)-1), 0);
	}
	expect_refusal(4243, "and the process is user 4243's");
}

TEST(a_link_is_not_followed)
{
	scratch_run("rm -rf tmp other && mkdir tmp other && echo '1000 10 a' >other/perf-7.map");
	scratch_run("ln -s ../other/perf-7.map tmp/perf-7.map");
	expect_refusal(geteuid(), "symbolic link");
	scratch_run("rm -rf tmp && ln -s other tmp");
	expect_refusal(geteuid(), "symbolic link");
}

TEST(what_is_no_regular_file_is_not_opened)
{
	scratch_run("rm -rf tmp && mkdir tmp && mkfifo tmp/perf-7.map");
	expect_refusal(geteuid(), "not a regular file");
	scratch_run("rm -rf tmp && mkdir -p tmp/perf-7.map");
	expect_refusal(geteuid(), "not a regular file");
	scratch_run("rm -rf tmp && touch tmp");
	expect_refusal(geteuid(), "there is none");
}

/* As browsers' sandboxes do: they go to a directory of a process of theirs that ends then. */
TEST(below_the_root_of_a_process_that_is_over_there_is_none)
{
	const pid_t pid = fork();
	struct stat st;
	char path[64];
	int fd = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);

	cleanup_close int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(root >= 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(perf_file_find(root, 7, geteuid(), &fd, &st, NULL), -ENOENT);
}

/* What an opener answers about file 7 below @root. Text is in @to, behind it a NUL. */
static struct perf_fact look_at_file(int root, struct perf_payload p, char *to, size_t size)
{
	cleanup_free char *area = xcalloc(1, 2UL << 20);
	struct seat seat = { .area = area, .n_area = 2UL << 20 };
	struct answer answer = {};
	struct perf_fact fact;

	p.root = root;
	p.number = 7;
	p.user = geteuid();
	perf_file_answer(&seat, &p, sizeof(p), &answer);
	assert_int_equal(answer.result, 0);
	assert_true(answer.n_bytes >= sizeof(fact));
	memcpy(&fact, area, sizeof(fact));
	(void)snprintf(to, size, "%s", area + sizeof(fact));
	return fact;
}

static struct perf_payload held(const struct perf_fact *file, const char *text)
{
	struct perf_payload p = {
		.dev = file->dev, .inode = file->inode, .held = file->handle, .offset = strlen(text)
	};

	p.n_tail = (uint32_t)strlen(text);
	memcpy(p.tail, text, p.n_tail);
	return p;
}

TEST(of_a_held_file_what_is_new_is_told)
{
	cleanup_close int root = open_root();
	const struct perf_payload none = { .held = -1 };
	char text[64];

	scratch_run("rm -rf tmp && mkdir tmp");
	scratch_write("tmp/perf-7.map", "1000 10 a\n");

	const struct perf_fact file = look_at_file(root, none, text, sizeof(text));
	struct perf_fact now;

	assert_true(file.handle >= SEAT_OURS && file.size == 10);
	now = look_at_file(root, held(&file, ""), text, sizeof(text));
	assert_string_equal(text, "1000 10 a\n");
	assert_true(now.handle == -1 && !now.is_anew);
	scratch_write("tmp/perf-7.map", "1000 10 a\n2000 10 b\n");
	now = look_at_file(root, held(&file, "1000 10 a\n"), text, sizeof(text));
	assert_string_equal(text, "2000 10 b\n");
	assert_true(now.handle == -1 && !now.is_anew);
	scratch_write("tmp/perf-7.map", "3000 10 c\n4000 10 d\n");
	now = look_at_file(root, held(&file, "1000 10 a\n"), text, sizeof(text));
	assert_string_equal(text, "3000 10 c\n4000 10 d\n");
	assert_true(now.is_anew);
	scratch_write("tmp/perf-7.map", "3");
	assert_true(look_at_file(root, held(&file, "1000 10 a\n"), text, sizeof(text)).is_anew);
	assert_int_equal(close(file.handle), 0);
}

TEST(another_file_at_the_path_is_told_apart)
{
	cleanup_close int root = open_root();
	const struct perf_payload none = { .held = -1 };
	struct perf_fact file, other;
	char text[64];

	scratch_run("rm -rf tmp && mkdir tmp");
	scratch_write("tmp/perf-7.map", "1000 10 a\n");
	file = look_at_file(root, none, text, sizeof(text));
	scratch_write("tmp/new", "1000 10 b\n");
	scratch_run("mv tmp/new tmp/perf-7.map");
	other = look_at_file(root, held(&file, "1000 10 a\n"), text, sizeof(text));
	assert_true(other.handle >= 0 && other.handle != file.handle);
	assert_string_equal(text, "");
	assert_int_equal(close(file.handle), 0);
	assert_int_equal(close(other.handle), 0);
}

/* --- the process --- */

TEST(a_process_is_known_by_its_user_and_number)
{
	struct process_identity identity;
	const uint64_t now = clock_ns(CLOCK_BOOTTIME);

	assert_true(process_identity_read((uint32_t)getpid(), &identity));
	assert_int_equal(identity.user, geteuid());
	assert_int_equal(identity.number, getpid());
	assert_true(identity.started && identity.started <= now);
}

TEST(a_process_that_has_gone_is_not_known)
{
	struct process_identity identity;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_identity_read((uint32_t)pid, &identity));
}

TEST_MAIN(scratch_make, scratch_remove)
