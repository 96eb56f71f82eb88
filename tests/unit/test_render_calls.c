/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "report/render_calls.h"
#include "stacks.h"

typedef int render_calls(const struct call_report *r, render_write *write, void *context);

static void expect(render_calls *render, const struct call_report *r, const char *want)
{
	cleanup_strbuf struct strbuf made = {};

	assert_int_equal(render(r, to_strbuf, &made), 0);
	assert_string_equal(made.text, want);
}

#define WIDE "a_name_of_more_than_thirty_six_characters"

/* clang-format off */
static const struct call_row rows[] = {
	{ "vfs_open", 12 },
	{ "exactly_thirty_six_characters_long__", 100 },
	{ WIDE, 4711 },
	{ "caf\xc3\xa9\xff\x1b", 123456789 },
	{ "malloc [libc.so.6]", 18446744073709551615U },
};

static const char table[] =
	"FUNC                                    COUNT\n"
	"vfs_open                                   12\n"
	"exactly_thirty_six_characters_long__      100\n"
	WIDE "     4711\n"
	"caf\xc3\xa9\\xff\\x1b                         123456789\n"
	"malloc [libc.so.6]                   18446744073709551615\n";
/* clang-format on */

TEST(text_is_laid_out_as_bccs)
{
	struct call_report r = { .rows = rows, .n = ARRAY_SIZE(rows), .total = 99 };
	cleanup_strbuf struct strbuf want = {};

	strbuf_printf(&want, "\n%s", table);
	expect(render_calls_text, &r, want.text);

	r.time = "14:02:11";
	r.has_total = true;
	strbuf_clear(&want);
	strbuf_printf(&want, "\n14:02:11\n%sTOTAL                                      99\n",
		      table);
	expect(render_calls_text, &r, want.text);
}

TEST(nothing_called_is_a_header_alone)
{
	const struct call_report r = { .time_ns = 5 };

	expect(render_calls_text, &r, "\nFUNC                                    COUNT\n");
	expect(render_calls_json, &r,
	       "{\"time\":0.000000005,\"counts\":[],\"total\":0,\"lost\":{}}\n");
}

TEST(json_is_a_line)
{
	const struct profile_loss losses[] = { { "too \"deep\"", 3 },
					       { "none", 0 },
					       { "full", 1 } };
	const struct call_report r = {
		.rows = rows + 3,
		.n = 2,
		.total = 42,
		.losses = losses,
		.n_losses = ARRAY_SIZE(losses),
		.time_ns = 1771000000012345678,
	};

	expect(render_calls_json, &r,
	       "{\"time\":1771000000.012345678,\"counts\":["
	       "{\"function\":\"caf\xc3\xa9\xef\xbf\xbd\\u001b\",\"count\":123456789},"
	       "{\"function\":\"malloc [libc.so.6]\",\"count\":18446744073709551615}],"
	       "\"total\":42,\"lost\":{\"too \\\"deep\\\"\":3,\"full\":1}}\n");
}

/* "name count name count" */
static void expect_chosen(uint64_t min, uint64_t top, const char *want)
{
	struct call_row some[] = {
		{ "b", 5 }, { "none", 0 }, { "most", 9 }, { "a", 5 }, { "c", 1 }
	};
	cleanup_strbuf struct strbuf made = {};
	size_t n = call_rows_choose(some, ARRAY_SIZE(some), min, top);

	strbuf_puts(&made, "");
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&made, "%s%s %d", i ? " " : "", some[i].name, (int)some[i].count);
	assert_string_equal(made.text, want);
}

TEST(rows_are_in_order_and_chosen)
{
	expect_chosen(0, 0, "c 1 a 5 b 5 most 9");
	expect_chosen(5, 0, "a 5 b 5 most 9");
	expect_chosen(6, 0, "most 9");
	expect_chosen(10, 0, "");
	expect_chosen(0, 1, "most 9");
	expect_chosen(0, 3, "a 5 b 5 most 9");
	expect_chosen(0, 9, "c 1 a 5 b 5 most 9");
	expect_chosen(5, 2, "b 5 most 9");
}

static int fail_at_once(void *context, const char *bytes, size_t n)
{
	return ++*(int *)context ? -5 : 0;
}

TEST(what_the_writer_says_is_returned_at_once)
{
	const struct call_report r = { .rows = rows, .n = ARRAY_SIZE(rows) };
	int n_calls = 0;

	assert_int_equal(render_calls_text(&r, fail_at_once, &n_calls), -5);
	assert_int_equal(render_calls_json(&r, fail_at_once, &n_calls), -5);
	assert_int_equal(n_calls, 2);
}

TEST_MAIN(NULL, NULL)
