/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "tool/output.h"

static void expect_picture(const char *text, size_t columns, size_t lines, const char *expected)
{
	cleanup_strbuf struct strbuf to = {};

	live_put(&to, text, columns, lines);
	assert_string_equal(to.text, expected);
}

TEST(a_picture_replaces_the_one_before)
{
	expect_picture("one\n\ntwo\n", 10, 4,
		       "\x1b[H\x1b[Kone\x1b[m\n\x1b[K\x1b[m\n\x1b[Ktwo\x1b[m\n\x1b[J");
}

TEST(the_last_line_tells_how_many_are_not_shown)
{
	expect_picture("1\n2\n3\n", 30, 3, "\x1b[H\x1b[K1\x1b[m\n\x1b[K2\x1b[m\n\x1b[K3\x1b[m");
	expect_picture("1\n2\n3\n4\n", 30, 3,
		       "\x1b[H\x1b[K1\x1b[m\n\x1b[K2\x1b[m\n\x1b[K[2 lines are not shown]\x1b[m");
	expect_picture("1\n2\n", 9, 1, "\x1b[H\x1b[K[2 lines \x1b[m");
}

TEST(a_line_does_not_wrap)
{
	expect_picture("1234567\n", 5, 1, "\x1b[H\x1b[K12345\x1b[m");
	expect_picture("\x1b[31m1234567\x1b[0m\n", 5, 1, "\x1b[H\x1b[K\x1b[31m12345\x1b[m");
	expect_picture("\u251c\u2500 \u4e2d\u6587\n", 5, 1,
		       "\x1b[H\x1b[K\u251c\u2500 \u4e2d\x1b[m");
	expect_picture("\u251c\u2500 \u4e2d\u6587\n", 6, 1,
		       "\x1b[H\x1b[K\u251c\u2500 \u4e2d\x1b[m");
	expect_picture("a\tb\xff\n", 9, 1, "\x1b[H\x1b[Ka\t\x1b[m");
}

TEST_MAIN(NULL, NULL)
