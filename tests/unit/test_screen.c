/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/utf8.h"
#include "report/screen.h"

static const struct screen_head sample = {
	.what = "t:sched:sched_switch",
	.elapsed_ns = 42 * 1000000000ULL,
	.hits = 1204331,
	.hits_per_s = 28663.4,
	.rows = 512,
};

static void expect_head(const struct screen_head *head, size_t columns, const char *expected)
{
	cleanup_strbuf struct strbuf to = {};

	screen_put_head(&to, head, columns);
	assert_string_equal(to.text, expected);
}

TEST(the_head_names_the_numbers)
{
	struct screen_head head = sample;

	expect_head(&head, 200,
		    "t:sched:sched_switch   0:42   1,204,331 hits (28,663/s)   "
		    "512 rows   lost 0");
	head.elapsed_ns = 3723 * 1000000000ULL;
	head.hits = 999;
	head.hits_per_s = 0;
	head.lost = 12000;
	head.is_paused = true;
	expect_head(&head, 200,
		    "t:sched:sched_switch   1:02:03   999 hits (0/s)   512 rows   "
		    "lost 12,000   [paused]");
}

TEST(one_of_a_kind_is_no_plural)
{
	struct screen_head head = sample;

	head.hits = head.rows = 1;
	head.hits_per_s = 0;
	expect_head(&head, 200, "t:sched:sched_switch   0:42   1 hit (0/s)   1 row   lost 0");
}

TEST(the_last_message_is_above_the_keys)
{
	const struct screen_size size = { 60, 5 }, small = { 60, 3 };
	struct screen_head head = sample;
	cleanup_strbuf struct strbuf to = {};

	(void)screen_put(&to, &head, "a\nb\nc\n", 0, &size, true);
	assert_non_null(strstr(to.text, "\nc"));
	strbuf_clear(&to);
	head.message = "tool: cannot read x\n";
	head.n_messages = 1;
	(void)screen_put(&to, &head, "a\nb\nc\n", 0, &size, true);
	assert_non_null(strstr(to.text, "\r\ntool: cannot read x"));
	assert_null(strstr(to.text, "\nc"));
	strbuf_clear(&to);
	head.n_messages = 3;
	(void)screen_put(&to, &head, "a\nb\nc\n", 0, &size, true);
	assert_non_null(strstr(to.text, "\r\n3 messages, the last one: tool: cannot read x"));
	strbuf_clear(&to);
	(void)screen_put(&to, &head, "a\nb\nc\n", 0, &small, true);
	assert_null(strstr(to.text, "tool"));
}

TEST(the_head_has_losses_and_the_pause_on_a_narrow_terminal)
{
	struct screen_head head = sample;

	head.lost = 7;
	head.is_paused = true;
	expect_head(&head, 80,
		    "t:sched:sched>   0:42   1,204,331 hits (28,663/s)   "
		    "512 rows   lost 7   [paused]");
	expect_head(&head, 66,
		    "0:42   1,204,331 hits (28,663/s)   512 rows   lost 7   "
		    "[paused]");
}

TEST(foreign_text_in_the_head_is_escaped)
{
	cleanup_strbuf struct strbuf to = {};
	struct screen_head head = sample;

	head.what = "c:\x1b[2J\n";
	screen_put_head(&to, &head, 200);
	assert_memory_equal(to.text, "c:\\x1b[2J\\x0a   ", 16);
}

/* Columns of @text: colours have none, scripts from U+1100 on two, but punctuation and lines. */
static size_t columns_of(const char *text, size_t n)
{
	size_t columns = 0;

	for (size_t i = 0; i < n;) {
		uint32_t c;

		if (text[i] == '\x1b') {
			i += 2 + strcspn(text + i + 2, "mHJK") + 1;
			continue;
		}
		i += utf8_at((const unsigned char *)text + i, &c);
		columns += c >= 0x1100 && (c < 0x2000 || c >= 0x2e80) ? 2 : 1;
	}
	return columns;
}

/* No line is wider than the screen, and there are as many as it has. */
static void expect_fits(const struct strbuf *picture, const struct screen_size *size)
{
	const char *at = picture->text;
	size_t lines = 0;

	for (;;) {
		const char *end = strstr(at, "\r\n");
		const size_t n = end ? (size_t)(end - at) : strlen(at);

		assert_true(columns_of(at, n) <= size->columns);
		lines++;
		if (!end)
			break;
		at = end + 2;
	}
	assert_true(lines <= size->lines);
}

TEST(a_picture_fits_every_size)
{
	static const char text[] =
		"100.0%  12 main\n"
		" \xe2\x94\x94\xe2\x94\x80\x1b[1;31m 99.0%\x1b[m work\n"
		"   \xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87 long name here\n";

	for (size_t columns = 1; columns < 120; columns++)
		for (size_t lines = 1; lines < 8; lines++) {
			const struct screen_size size = { columns, lines };
			struct strbuf to = {};

			assert_int_equal(screen_put(&to, &sample, text, 0, &size, columns % 2), 0);
			expect_fits(&to, &size);
			strbuf_fini(&to);
		}
}

TEST(a_line_that_is_too_long_ends_in_a_mark)
{
	const struct screen_size size = { 5, 4 };
	cleanup_strbuf struct strbuf to = {};

	(void)screen_put(&to, &sample, "12345\n123456\n", 0, &size, false);
	assert_non_null(strstr(to.text, "\r\n12345\x1b[m"));
	assert_non_null(strstr(to.text, "\r\n1234\xe2\x80\xa6\x1b[m"));
	strbuf_clear(&to);
	(void)screen_put(&to, &sample, "123456\n", 0, &size, true);
	assert_non_null(strstr(to.text, "\r\n1234>\x1b[m"));
}

TEST(lines_before_the_first_one_are_left_out)
{
	const struct screen_size size = { 40, 4 };
	cleanup_strbuf struct strbuf to = {};

	assert_int_equal(screen_put(&to, &sample, "one\ntwo\nthree\nfour", 2, &size, false), 2);
	assert_null(strstr(to.text, "two"));
	assert_non_null(strstr(to.text, "\r\nthree"));
	assert_non_null(strstr(to.text, "\r\nfour"));
	strbuf_clear(&to);
	assert_int_equal(screen_put(&to, &sample, "", 9, &size, false), 0);
}

TEST(the_last_picture_is_full)
{
	const struct screen_size size = { 40, 4 }, large = { 40, 9 }, tiny = { 40, 2 };
	const char *text = "one\ntwo\nthree\nfour\n";
	struct screen_head head = sample;
	cleanup_strbuf struct strbuf to = {};

	assert_int_equal(screen_put(&to, &head, text, 3, &size, false), 2);
	assert_non_null(strstr(to.text, "\r\nthree"));
	strbuf_clear(&to);
	assert_int_equal(screen_put(&to, &head, text, 3, &large, false), 0);
	assert_non_null(strstr(to.text, "\r\none"));
	head.message = "tool: cannot read x\n";
	assert_int_equal(screen_put(&to, &head, text, SIZE_MAX, &size, false), 3);
	assert_int_equal(screen_put(&to, &head, text, SIZE_MAX, &tiny, false), 4);
}

TEST(the_key_that_quits_is_seen_on_a_narrow_terminal)
{
	const struct screen_size size = { 20, 4 };
	cleanup_strbuf struct strbuf to = {};

	(void)screen_put(&to, &sample, "one\n", 0, &size, true);
	assert_non_null(strstr(to.text, "\r\n\x1b[7m q quit  "));
}

TEST_MAIN(NULL, NULL)
