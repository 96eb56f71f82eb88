/* rooms: symbolize kernel processes files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "children.h"
#include "scratch.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "files/files.h"
#include "files/zygote.h"
#include "symbolize/jit.h"

/* --- the text --- */

static void read_map(const char *text, struct perf_map *ret)
{
	perf_map_read(xstrdup(text), strlen(text), ret);
}

/* The name that @m gives @addr, with the function's start behind a '@'; "": none. */
static void expect_at(const struct perf_map *m, uint64_t addr, const char *expected)
{
	const struct perf_line *line = perf_map_at(m, addr);
	cleanup_free char *found =
		line ? xasprintf("%s@%lx", line->name, line->start) : xstrdup("");

	assert_string_equal(found, expected);
}

static void expect_told(const char *text, uint64_t addr, const char *expected)
{
	cleanup(perf_map_fini) struct perf_map m;

	read_map(text, &m);
	expect_at(&m, addr, expected);
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

	expect_told("", 0x1000, "");
	expect_told(text, 0xfff, "");
	expect_told(text, 0x1000, "a@1000");
	expect_told(text, 0x100f, "a@1000");
	expect_told(text, 0x1010, "");
	expect_told(text, 0x101f, "");
	expect_told(text, 0x1027, "b@1020");
	expect_told(text, 0x1028, "");
}

TEST(lines_of_another_form_are_left_out)
{
	/* clang-format off */
	static const char *const lines[] = {
		"", "1000", "1000 10", "1000 10 ", "1000 10 \t\r", "1000 0 empty", "g000 10 a",
		"1000 1g a", "1000-1010 a", "00000000000001000 10 a",
		"1000 fffffffffffffff0 round", "\001\002\003",
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		cleanup(perf_map_fini) struct perf_map m;
		cleanup_free char *text = xasprintf("%s\n1000 10 good\n", lines[i]);

		read_map(text, &m);
		assert_int_equal(m.n, 1);
		expect_at(&m, 0x1008, "good@1000");
		expect_at(&m, 0x1010, "");
	}
}

TEST(a_line_counts_when_its_end_is_there_and_it_is_not_too_long)
{
	cleanup_strbuf struct strbuf text = {};
	cleanup(perf_map_fini) struct perf_map m;

	strbuf_printf(&text, "1000 10 first\n2000 10 %05000d\n3000 10 thi", 0);
	read_map(text.text, &m);
	assert_int_equal(m.n, 1);
	expect_at(&m, 0x1000, "first@1000");
	expect_at(&m, 0x2000, "");
	expect_at(&m, 0x3000, "");
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

/* The worst cases of an order: each line hides the one before, and one hides all. */
TEST(a_million_lines_are_enough)
{
	cleanup_strbuf struct strbuf text = {};
	cleanup(perf_map_fini) struct perf_map m;

	for (int i = 0; i < (1 << 20) - 2; i++)
		strbuf_printf(&text, "%x %x same\n", i, (2 << 20) - i);
	strbuf_printf(&text, "0 20000000 all\n10 8 last\n0 20000000 too_many\n");
	read_map(text.text, &m);
	assert_true(m.is_full);
	expect_at(&m, 0xf, "all@0");
	expect_at(&m, 0x10, "last@10");
	expect_at(&m, 0x1fffffff, "all@0");
	assert_true(m.n_bytes < 128U << 20);
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
	struct file_fact fact;
	struct stat st;
	struct error e;
	int err = perf_file_find(root, 7, user, &fd, &fact, &e);

	assert_true(err == 0 || err == -ENOENT || err == -EPERM);
	if (!err)
		assert_true(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
	return xasprintf("%s", err ? e.text : "");
}

static void expect_refusal(uint32_t user, const char *words)
{
	cleanup_free char *text = refusal(user);

	if (words[0] ? !strstr(text, words) : text[0] != '\0')
		fail_msg("'%s' instead of '%s'", text, words);
}

TEST(a_file_of_the_processs_user_or_roots_is_taken)
{
	cleanup_free char *path = scratch_path("tmp/perf-7.map");

	scratch_run("rm -rf tmp && mkdir tmp");
	expect_refusal(geteuid(), "there is none");
	scratch_write("tmp/perf-7.map", "1000 10 a\n");
	expect_refusal(geteuid(), "");
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
	const pid_t pid = child_start();
	struct file_fact fact;
	char path[64];
	int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);

	cleanup_close int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(root >= 0);
	child_end(pid);
	assert_int_equal(perf_file_find(root, 7, geteuid(), &fd, &fact, NULL), -ENOENT);
}

/* What a child answers about file 7, of which @known is known. The text is in @to, with a NUL. */
static struct file_fact ask(struct file_fact known, char *to, size_t size)
{
	cleanup_close int root = open_root();
	char area[256] = "";
	struct answer answer = {};
	struct child child = { .question = { .what = QUESTION_PERF_MAP,
					     .n = 7,
					     .user = geteuid(),
					     .root = root,
					     .expected = known },
			       .answer = &answer,
			       .data = area,
			       .n_data = sizeof(area) };
	struct file_fact fact;

	assert_works(parser_work(&child, &e));
	assert_true(answer.n_bytes >= sizeof(fact));
	memcpy(&fact, area, sizeof(fact));
	(void)snprintf(to, size, "%s", area + sizeof(fact));
	return fact;
}

TEST(a_file_is_told_with_its_text_unless_it_is_known)
{
	struct file_fact file, other;
	char text[64];

	scratch_run("rm -rf tmp && mkdir tmp");
	scratch_write("tmp/perf-7.map", "1000 10 a\n");
	file = ask((struct file_fact){}, text, sizeof(text));
	assert_int_equal(file.size, 10);
	assert_string_equal(text, "1000 10 a\n");
	other = ask(file, text, sizeof(text));
	assert_memory_equal(&other, &file, sizeof(file));
	assert_string_equal(text, "");
	scratch_write("tmp/new", "1000 10 b\n");
	scratch_run("mv tmp/new tmp/perf-7.map");
	other = ask(file, text, sizeof(text));
	assert_true(other.dev == file.dev && other.inode != file.inode);
	assert_string_equal(text, "1000 10 b\n");
}

/* --- the process --- */

TEST(a_process_is_known_by_its_user_and_number)
{
	struct process_identity identity;
	const uint64_t now = clock_ns(CLOCK_BOOTTIME);

	assert_false(process_identity_read((uint32_t)child_gone(), &identity));
	assert_true(process_identity_read((uint32_t)getpid(), &identity));
	assert_int_equal(identity.user, geteuid());
	assert_int_equal(identity.number, getpid());
	assert_true(identity.started && identity.started <= now);
}

TEST_MAIN(scratch_make, scratch_remove)
