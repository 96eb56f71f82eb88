/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include <sys/resource.h>

#include "base/descriptors.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/strbuf.h"
#include "base/strtab.h"

/* error */

TEST(an_error_has_a_code_and_words_with_context_in_front)
{
	struct error e = {};

	assert_int_equal(error_set(&e, -ENOENT, "%s has no %d", "x", 7), -ENOENT);
	assert_int_equal(e.code, -ENOENT);
	assert_int_equal(error_within(&e, "attach %s", "f"), -ENOENT);
	assert_int_equal(error_within(&e, "start"), -ENOENT);
	assert_string_equal(e.text, "start: attach f: x has no 7");
	assert_int_equal(error_within(NULL, "start"), -EIO);
	errno = ENOENT;
	assert_int_equal(error_errno(&e, "open %s", "/x"), -ENOENT);
	assert_int_equal(e.code, -ENOENT);
	assert_string_equal(e.text, "open /x: No such file or directory");
	errno = 0; /* a failure all the same */
	assert_int_equal(error_errno(&e, "x"), -EIO);
	assert_string_equal(e.text, "x: Input/output error");
}

static void expect_dots(const struct error *e, const char *before)
{
	assert_int_equal(strncmp(e->text, before, strlen(before)), 0);
	assert_int_equal(strlen(e->text), sizeof(e->text) - 1);
	assert_string_equal(e->text + sizeof(e->text) - 4, "...");
}

TEST(a_text_too_long_or_made_so_by_its_context_or_reason_ends_in_dots)
{
	struct error e;
	char text[2 * sizeof(e.text)];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(error_set(&e, -EINVAL, "%s", text), -EINVAL);
	expect_dots(&e, "xxx");
	text[sizeof(e.text) - 1] = '\0'; /* fits exactly */
	assert_int_equal(error_set(&e, -EINVAL, "%s", text), -EINVAL);
	assert_string_equal(e.text, text);
	assert_int_equal(error_within(&e, "in here"), -EINVAL);
	expect_dots(&e, "in here: xxx");
	errno = EACCES;
	assert_int_equal(error_errno(&e, "%s", text), -EACCES);
	expect_dots(&e, "xxx");
}

/* alloc */

/* Run @act in a child with its standard error in @said; returns the exit status. */
static int in_child(void (*act)(void), char *said, size_t size)
{
	int pipes[2];
	int status;
	size_t n = 0;
	ssize_t more;

	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(pipes[1], STDERR_FILENO);
		act();
		_exit(99);
	}
	close(pipes[1]);
	while ((more = read(pipes[0], said + n, size - 1 - n)) > 0)
		n += (size_t)more;
	said[n] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void ask_too_much(void)
{
	free(xmalloc(SIZE_MAX / 4));
}

static void ask_more_than_a_size_can_say(void)
{
	free(xreallocarray(NULL, SIZE_MAX / 2, 8));
}

TEST(out_of_memory_ends_the_program_with_a_word)
{
	char said[8192];

	assert_int_equal(in_child(ask_too_much, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "stackcount: out of memory\n"));
	assert_int_equal(in_child(ask_more_than_a_size_can_say, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "stackcount: out of memory\n"));
}

/* strtab */

TEST(equal_texts_are_one_pointer_that_does_not_move)
{
	struct strtab *t = strtab_new();
	const char *kept[3000];
	char text[32];

	for (int i = 0; i < 3000; i++) {
		(void)snprintf(text, sizeof(text), "name_%d", i);
		kept[i] = strtab_add(t, text);
		assert_ptr_not_equal(kept[i], text);
	}
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(text, sizeof(text), "name_%d", i);
		assert_string_equal(kept[i], text);
		assert_ptr_equal(strtab_add(t, text), kept[i]);
	}
	assert_true(strtab_bytes(t) > 3000 * strlen("name_"));
	strtab_free(t);
	strtab_free(NULL);
}

TEST(a_prefix_is_another_text)
{
	struct strtab *t = strtab_new();
	const char *whole = strtab_add(t, "abcdef");
	const char *part = strtab_add_n(t, "abcdef", 3);

	assert_string_equal(part, "abc");
	assert_ptr_not_equal(whole, part);
	assert_ptr_equal(strtab_add(t, "abc"), part);
	assert_ptr_equal(strtab_add_n(t, "abcdef", 100), whole); /* ends at its NUL */
	assert_ptr_equal(strtab_add_n(t, "x", 0), strtab_add(t, ""));
	strtab_free(t);
}

/* hash */

TEST(a_map_gives_back_what_was_put)
{
	struct u64_map map = {};
	bool is_new = false;

	assert_null(u64_map_get(&map, 0));
	for (uint64_t i = 0; i < 5000; i++) {
		/* 0 and UINT64_MAX are keys like others. */
		*u64_map_put(&map, 0 - i, 1, &is_new) += (uint32_t)i;
		assert_true(is_new);
	}
	assert_int_equal(map.n, 5000);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_int_equal(*u64_map_get(&map, 0 - i), 1 + i);
		assert_int_equal(*u64_map_put(&map, 0 - i, 77, &is_new), 1 + i);
		assert_false(is_new);
	}
	assert_null(u64_map_get(&map, 1));
	assert_int_equal(*u64_map_put(&map, 1, 9, NULL), 9);

	u64_map_clear(&map);
	assert_int_equal(map.n, 0);
	assert_null(u64_map_get(&map, 1));
	u64_map_fini(&map);
	assert_null(u64_map_get(&map, 1));
}

/* The inverse of hash_mix(). */
static uint64_t unmix(uint64_t x)
{
	x = (x ^ x >> 31 ^ x >> 62) * 0x319642b2d24d8ec3ULL;
	x = (x ^ x >> 27 ^ x >> 54) * 0x96de1b173f119089ULL;
	return x ^ x >> 30 ^ x >> 60;
}

/* The slots in use that directly follow each other, at most: so many may be looked at for a key. */
static size_t longest_row(const struct u64_map *map)
{
	size_t n = 0, most = 0;

	for (size_t i = 0; i < map->n_slots; i++) {
		n = map->slots[i].used ? n + 1 : 0;
		most = n > most ? n : most;
	}
	return most;
}

/*
 * Keys and texts whose hashes would have equal low bits, and so one slot, if nothing unknown were
 * in the hash. A hostile file may have any number of them.
 */
TEST(nobody_can_make_keys_of_one_slot)
{
	enum { N = 20000 };
	cleanup(u64_map_fini) struct u64_map keys = {}, hashes = {};

	for (uint64_t i = 1; i <= N; i++) {
		const uint64_t key = unmix(i << 32);
		const uint64_t text = unmix(unmix(i << 32)) ^ 0x9e3779b97f4a7c15ULL ^ sizeof(text);

		assert_int_equal(hash_mix(key), i << 32);
		(void)u64_map_put(&keys, key, 0, NULL);
		(void)u64_map_put(&hashes, hash_bytes(&text, sizeof(text)) & 0xffff, 0, NULL);
	}
	assert_true(longest_row(&keys) < 500);
	assert_true(hashes.n > N / 2); /* with one low half of their hashes, it would be 1 */
}

TEST(hashes_depend_on_every_byte_and_on_the_length)
{
	unsigned char data[20] = {};
	uint64_t zero = hash_bytes(data, sizeof(data));

	assert_true(zero == hash_bytes(data, sizeof(data)));
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] = 1;
		assert_true(hash_bytes(data, sizeof(data)) != zero);
		data[i] = 0;
		assert_true(hash_bytes(data, i) != zero);
	}
	assert_true(hash_mix(1) != hash_mix(2));
}

/* pattern */

static bool matches(const char *text, bool is_regexp, const char *name)
{
	cleanup(pattern_freep) struct pattern *p = NULL;

	assert_int_equal(pattern_compile(text, is_regexp, &p, NULL), 0);
	assert_string_equal(pattern_text(p), text);
	return pattern_matches(p, name);
}

TEST(a_glob_matches_the_whole_name)
{
	assert_true(matches("malloc", false, "malloc"));
	assert_false(matches("malloc", false, "mallocx"));
	assert_true(matches("m?l*", false, "malloc"));
	assert_false(matches("m?l*", false, "xmalloc"));
	assert_true(matches("*", false, ""));
	assert_true(matches("[[:alpha:]]_[!x]", false, "a_b"));
	assert_true(matches("a.b$", false, "a.b$"));
	assert_false(matches("a.b", false, "axb"));
	assert_true(matches("a\\*", false, "a*"));
	assert_true(matches("mal[loc", false, "mal[loc"));
}

TEST(a_regexp_matches_anywhere)
{
	assert_true(matches("tcp_send", true, "do_tcp_sendmsg"));
	assert_false(matches("^tcp_send", true, "do_tcp_sendmsg"));
	assert_true(matches("^mal(loc|)$", true, "mal"));
	assert_false(matches("^[[:alpha:]]+$", true, "ab3"));
}

TEST(a_bad_regexp_is_refused_with_the_reason)
{
	char long_one[4098] = "";
	struct pattern *p = NULL;
	struct error e = {};

	assert_int_equal(pattern_compile("a(b", true, &p, &e), -EINVAL);
	assert_string_equal(e.text, "bad regular expression 'a(b': Unmatched ( or \\(");
	assert_int_equal(pattern_compile("a[b", true, &p, &e), -EINVAL);
	assert_int_equal(strncmp(e.text, "bad regular expression 'a[b': ", 30), 0);
	memset(long_one, 'a', 4097);
	assert_int_equal(pattern_compile(long_one, true, &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "aaa...': longer than 4096 bytes"));
	assert_null(p);
}

TEST(only_a_glob_without_wildcards_is_a_literal)
{
	static const struct {
		const char *text;
		bool is_regexp;
		const char *literal;
	} rows[] = {
		{ "malloc", false, "malloc" }, { "ns::f", false, "ns::f" }, { "mal*", false, NULL },
		{ "m?lloc", false, NULL },     { "[m]", false, NULL },      { "a\\*", false, NULL },
		{ "malloc", true, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pattern *p = NULL;

		assert_int_equal(pattern_compile(rows[i].text, rows[i].is_regexp, &p, NULL), 0);
		if (rows[i].literal)
			assert_string_equal(pattern_literal(p), rows[i].literal);
		else
			assert_null(pattern_literal(p));
		pattern_freep(&p);
		assert_null(p);
	}
}

/* log */

static void say_both(void)
{
	log_setup("tool", LOG_WARN);
	log_warn("lost %d", 3);
	log_debug("hidden");
	log_setup("tool", LOG_DEBUG);
	log_debug("shown %s", "now");
	_exit(log_level() == LOG_DEBUG ? 0 : 1);
}

TEST(a_line_names_the_program_and_details_are_for_debugging)
{
	char said[256];

	assert_int_equal(in_child(say_both, said, sizeof(said)), 0);
	assert_string_equal(said, "tool: lost 3\ntool: shown now\n");
}

static void say_foreign(void)
{
	log_setup("tool", LOG_WARN);
	log_warn("%s: \xc3\xa9\t\x1b[2J \xff \xe2\x80\xae \xef\xbb\xbf \xc2\x9b\nline", "a\x7f");
	log_error(&(struct error){ .text = "ours\n  \x1b[2J\n", .has_lines = true });
	_exit(0);
}

TEST(foreign_names_drive_no_terminal)
{
	char said[256];

	assert_int_equal(in_child(say_foreign, said, sizeof(said)), 0);
	assert_string_equal(said, "tool: a\\x7f: \xc3\xa9\t\\x1b[2J \\xff \\xe2\\x80\\xae "
				  "\\xef\\xbb\\xbf \\xc2\\x9b\\x0aline\n"
				  "tool: ours\n  \\x1b[2J\n\n");
}

static void say_too_much(void)
{
	struct log_few few = {};

	log_setup("tool", LOG_WARN);
	for (int i = 0; i < 100; i++)
		log_few(&few, "file %d", i / 5);
	log_few_end(&few, "files");
	_exit(0);
}

static void say_enough(void)
{
	struct log_few few = {};

	log_setup("tool", LOG_WARN);
	log_few(&few, "file");
	log_few_end(&few, "files");
	_exit(0);
}

TEST(foreign_files_fill_no_log)
{
	char said[1024];

	assert_int_equal(in_child(say_too_much, said, sizeof(said)), 0);
	assert_string_equal(said, "tool: file 0\ntool: file 1\ntool: file 2\ntool: file 3\n"
				  "tool: file 4\ntool: file 5\ntool: file 6\ntool: file 7\n"
				  "tool: 12 more messages about files are left out\n");
	assert_int_equal(in_child(say_enough, said, sizeof(said)), 0);
	assert_string_equal(said, "tool: file\n");
}

static void say_while_held(void)
{
	struct strbuf held = {};

	log_setup("tool", LOG_WARN);
	log_hold(&held);
	log_warn("first");
	log_warn("second\x1b");
	if (strcmp(held.text, "tool: first\ntool: second\\x1b\n") != 0)
		_exit(1);
	fprintf(stderr, "picture\n");
	log_release();
	if (held.n || held.text)
		_exit(2);
	log_warn("third");
	log_release();
	_exit(0);
}

static void say_too_much_while_held(void)
{
	struct strbuf held = {};

	log_setup("tool", LOG_WARN);
	log_hold(&held);
	for (int i = 0; i < 1000000; i++)
		log_warn("%d", i);
	if (held.n > 1 << 18)
		_exit(1);
	held.n = 0; /* 256 KiB */
	log_release();
	_exit(0);
}

TEST(messages_wait_while_the_terminal_is_taken)
{
	char said[1024];

	assert_int_equal(in_child(say_while_held, said, sizeof(said)), 0);
	assert_string_equal(said, "picture\ntool: first\ntool: second\\x1b\ntool: third\n");
	assert_int_equal(in_child(say_too_much_while_held, said, sizeof(said)), 0);
	assert_non_null(strstr(said, " more messages are left out\n"));
}

/* files */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a process of its own, whose status names the first descriptor that is wrong. */
TEST(all_but_a_few_are_closed)
{
	int kept[] = { 90, -1, STDERR_FILENO, 70, 90, -1 };
	int status = 1;
	const pid_t pid = fork();

	if (pid == 0) {
		for (int fd = 69; fd <= 91; fd++)
			if (dup2(STDERR_FILENO, fd) != fd)
				_exit(100);
		descriptors_close_but(kept, 6);
		for (int fd = 0; fd < 200; fd++)
			if (is_open(fd) != (fd == STDERR_FILENO || fd == 70 || fd == 90))
				_exit(fd + 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(holds_what_is_free_and_gives_it_back)
{
	const int lowest = dup(STDIN_FILENO);
	struct rlimit before;
	int held[16];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);

	const struct rlimit few = { (rlim_t)lowest + 16, before.rlim_max };

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);

	assert_int_equal(descriptors_hold(held, 4), 4);

	const size_t n = 4 + descriptors_hold(held + 4, 12);

	assert_in_range(n, 8, 15);
	assert_int_equal(dup(STDIN_FILENO), -1);
	descriptors_release(held, n);
	assert_int_equal(descriptors_hold(held, 16), n);
	descriptors_release(held, n);
	close(lowest);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_MAIN(NULL, NULL)
