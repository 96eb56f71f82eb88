/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Renderers against files in tests/golden, byte for byte: without options, what each one changes,
 * and with all, named by their letters (text_s.txt). See golden.h.
 */
#include "test.h"

#include "golden.h"
#include "profile/profile.h"
#include "report/label.h"
#include "report/render.h"
#include "report/writer.h"
#include "report_sample.h"

static struct render_style style_of(const char *options)
{
	return (struct render_style){ .offsets = strchr(options, 's'),
				      .addresses = strchr(options, 'v'),
				      .delimited = strchr(options, 'd'),
				      .per_process = strchr(options, 'P'),
				      .time = strchr(options, 'T') ? "14:02:11" : NULL };
}

static const struct golden_row {
	const char *name;
	render_function *render;
	const char *form, *options;
} golden_rows[] = {
	{ "golden text", render_text, "text", "" },
	{ "golden text s", render_text, "text", "s" },
	{ "golden text v", render_text, "text", "v" },
	{ "golden text d", render_text, "text", "d" },
	{ "golden text P", render_text, "text", "P" },
	{ "golden text T", render_text, "text", "T" },
	{ "golden text svdPT", render_text, "text", "svdPT" },
	{ "golden folded", render_folded, "folded", "" },
	{ "golden folded s", render_folded, "folded", "s" },
	{ "golden folded v", render_folded, "folded", "v" },
	{ "golden folded d", render_folded, "folded", "d" },
	{ "golden folded P", render_folded, "folded", "P" },
	{ "golden folded svdP", render_folded, "folded", "svdP" },
};

static void the_form_is_what_the_golden_file_says(void **state)
{
	const struct golden_row *row = *state;
	const struct render_style style = style_of(row->options);
	cleanup(profile_freep) struct profile *r = sample(style.per_process);
	cleanup_strbuf struct strbuf made = {}, plain = {};
	char name[64];

	assert_int_equal(row->render(r, &style, to_strbuf, &made), 0);
	if (strlen(row->options) == 1) {
		assert_int_equal(row->render(r, &(struct render_style){}, to_strbuf, &plain), 0);
		golden_keep_changes(&plain, &made);
	}
	(void)snprintf(name, sizeof(name), "%s%s%s.txt", row->form, row->options[0] ? "_" : "",
		       row->options);
	golden_expect(name, &made);
}

TEST_ROWS(golden_rows, the_form_is_what_the_golden_file_says)

/* Files of other programs may have such, and so have differences that they made. */
TEST(counts_below_zero_keep_their_sign)
{
	const struct render_style style = {};
	const uint32_t row[] = { 0 };
	struct profile_builder *b = profile_builder_new(1);
	cleanup_strbuf struct strbuf made = {};

	(void)profile_builder_add(
		b, &(struct profile_stack){ .count = -7, .frames = row, .n_kernel = 1 });

	cleanup(profile_freep) struct profile *r = finish(b, &table);

	assert_int_equal(render_folded(r, &style, to_strbuf, &made), 0);
	assert_string_equal(made.text, "vfs_read -7\n");
	strbuf_clear(&made);
	assert_int_equal(render_text(r, &style, to_strbuf, &made), 0);
	assert_string_equal(made.text, "\n  vfs_read\n    -7\n\n");
}

TEST(an_empty_report_is_an_empty_line_in_text_and_nothing_in_folded)
{
	struct render_style style = {};
	struct profile_builder *b = profile_builder_new(1);
	cleanup_strbuf struct strbuf made = {};

	cleanup(profile_freep) struct profile *r = finish(b, &table);

	assert_int_equal(render_folded(r, &style, to_strbuf, &made), 0);
	assert_int_equal(made.n, 0);
	assert_int_equal(render_text(r, &style, to_strbuf, &made), 0);
	assert_string_equal(made.text, "\n");
}

static void expect_escaped(const char *text, const char *expected, bool is_folded)
{
	cleanup_strbuf struct strbuf made = {};

	strbuf_puts(&made, "");
	escape_put(&made, text, is_folded);
	assert_string_equal(made.text, expected);
}

TEST(what_could_drive_a_terminal_is_made_visible)
{
	expect_escaped("\x1b[31mred\x7f\t\r", "\\x1b[31mred\\x7f\\x09\\x0d", false);
	expect_escaped("\xc2\x80|\xc2\x9f|\xc2\xa0", "\\xc2\\x80|\\xc2\\x9f|\xc2\xa0", false);
	expect_escaped("a\xe2\x80\xae"
		       "b\xe2\x80\xa8",
		       "a\\xe2\\x80\\xae"
		       "b\\xe2\\x80\\xa8",
		       false);
	expect_escaped("\xef\xbb\xbf|\xe2\x80\x8b|\xc2\xad",
		       "\\xef\\xbb\\xbf|\\xe2\\x80\\x8b|\\xc2\\xad", false);
	expect_escaped("\xf3\xa0\x81\x81|\xf0\x93\x90\xb0",
		       "\\xf3\\xa0\\x81\\x81|\\xf0\\x93\\x90\\xb0", false);
	expect_escaped("a;b\nc", "a;b\\x0ac", false);
	expect_escaped("App\\User \\\\ \\", "App\\User \\\\ \\", false);
	expect_escaped("\\x1b \x1b \\\x1b", "\\x5cx1b \\x1b \\\\x1b", false);
}

TEST(valid_utf8_stays_and_the_rest_is_made_visible)
{
	expect_escaped("h\xc3\xa9llo \xe4\xbd\xa0 \xf0\x9f\x90\x9d",
		       "h\xc3\xa9llo \xe4\xbd\xa0 \xf0\x9f\x90\x9d", false);
	expect_escaped("\xff\xfe", "\\xff\\xfe", false);
	expect_escaped("\xc3", "\\xc3", false); /* cut off by the end */
	expect_escaped("\xf0\x9f\x90", "\\xf0\\x9f\\x90", false);
	expect_escaped("\xc0\x80", "\\xc0\\x80", false);                   /* overlong */
	expect_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80", false);          /* half of a pair */
	expect_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", false); /* past the last */
	expect_escaped("\xe2\x28\xa1", "\\xe2(\\xa1", false);
}

TEST(folded_replaces_what_ends_a_frame_or_a_line)
{
	expect_escaped("La/b;::run\n", "La/b_::run_", true);
	expect_escaped("a\x1b\r", "a\\x1b\\x0d", true);
}

static void expect_escaped_name(const char *name, const char *expected)
{
	cleanup_strbuf struct strbuf made = {};

	escape_put_name(&made, name, true);
	assert_string_equal(made.text, expected);
}

TEST(no_name_looks_like_a_mark)
{
	expect_escaped_name("[unknown]", "\\x5bunknown]");
	expect_escaped_name("[cut: depth]", "\\x5bcut: depth]");
	expect_escaped_name("[unverified: frame pointers]", "\\x5bunverified: frame pointers]");
	expect_escaped_name("[no stack]", "\\x5bno stack]");
	expect_escaped_name("[libx.so+0x1200]", "\\x5blibx.so+0x1200]");
	expect_escaped_name("[libx.so]", "\\x5blibx.so]");
	expect_escaped_name("[cut: ", "\\x5bcut: ");
	expect_escaped_name("[cutter", "[cutter");
	expect_escaped_name("[", "["); /* test(1)'s other name */
	expect_escaped_name("-[Class method]", "-[Class method]");
}

static void expect_unnamed(const char *module, bool has_start, const char *expected)
{
	const struct label_style style = { .form = LABEL_FOLDED };
	const struct frame frame = { .kind = FRAME_USER,
				     .module = module,
				     .is_in_file = module && module[0] != '[',
				     .has_start = has_start,
				     .offset = 0x34,
				     .module_offset = 0x1234 };
	cleanup_strbuf struct strbuf made = {};

	label_put(&made, &style, &frame);
	assert_string_equal(made.text, expected);
}

TEST(no_file_looks_like_a_mark_or_another_ones_function)
{
	expect_unnamed("libx.so", true, "[libx.so+0x1200]");
	expect_unnamed("libx.so", false, "[libx.so]");
	expect_unnamed("libstdc++.so", true, "[libstdc++.so+0x1200]");
	expect_unnamed("libx.so+0x10", false, "[libx.so\\x2b0x10]");
	expect_unnamed("a];b[x\x1b", true, "[a\\x5d_b[x\\x1b+0x1200]");
	expect_unnamed("unknown", false, "[\\x75nknown]");
	expect_unnamed("no stack", false, "[\\x6eo stack]");
	expect_unnamed("cut: depth", true, "[\\x63ut: depth+0x1200]");
	expect_unnamed("unverified: x", false, "[\\x75nverified: x]");
	expect_unnamed("[vdso]", true, "[vdso+0x1200]");
	expect_unnamed("[vdso]", false, "[vdso]");
	expect_unnamed("[anon]", false, "[unknown]");
	expect_unnamed("vdso", false, "[\\x76dso]");
	expect_unnamed("", true, "[unknown]");
	expect_unnamed(NULL, true, "[unknown]");
}

static void expect_losses(const struct profile_loss *losses, size_t n, uint64_t hits,
			  const char *expected)
{
	cleanup_strbuf struct strbuf made = {};

	strbuf_puts(&made, "");
	render_losses(losses, n, hits, &made);
	assert_string_equal(made.text, expected);
}

TEST(the_most_frequent_stacks_are_shown_with_the_sum_of_all)
{
	cleanup(profile_freep) struct profile *r = large_profile(300, 20);
	const struct render_style style = { .most = 100 };
	cleanup_strbuf struct strbuf made = {};
	size_t n = 0;

	assert_int_equal(render_text(r, &style, to_strbuf, &made), 0);
	for (const char *at = made.text; (at = strstr(at, "\n\n")); at++)
		n++;
	assert_int_equal(n, 100);
	assert_non_null(
		strstr(made.text, " in 300 stacks; 200 stacks are not shown: --top 0 shows all\n"));
}

TEST(losses_are_named_by_reason_and_silent_when_nothing_was_lost)
{
	struct profile_loss losses[] = { { "no room for a new stack", 0 },
					 { "nested too deep on one CPU", 0 },
					 { "no memory at hand", 0 } };

	expect_losses(losses, 0, 9, "");
	expect_losses(losses, 3, 9, "");
	losses[1].n = 1;
	expect_losses(losses, 3, 100, "Lost 1 hit: 1 nested too deep on one CPU\n");
	expect_losses(losses, 3, 49, "Lost 1 hit (2.0%): 1 nested too deep on one CPU\n");
	expect_losses(losses, 3, 1, "Lost 1 hit (50.0%): 1 nested too deep on one CPU\n");
	losses[0].n = 10;
	losses[1].n = 2;
	expect_losses(losses, 3, 0,
		      "Lost 12 hits: 10 no room for a new stack, 2 nested too deep on one CPU\n");
}

static void check_label(const struct frame *frame, enum label_form form, const char *expected)
{
	const struct frame_table one = { .frames = (struct frame *)frame, .n = 1 };
	const struct render_style style = { .offsets = true };
	cleanup(labels_fini) struct labels labels;
	cleanup_strbuf struct strbuf label = {};

	labels_init(&labels, &one, &style, form);
	labels_put(&label, &labels, 0);
	assert_string_equal(label.text, expected);
}

TEST(source_lines_and_inlined_functions_are_marked)
{
	struct frame frame = {
		.kind = FRAME_USER, .name = "f", .offset = 4, .file = "a;\x1b.c", .line = 4294967295
	};

	check_label(&frame, LABEL_TEXT, "  f+0x4 a;\\x1b.c:4294967295");
	check_label(&frame, LABEL_FOLDED, "f+0x4 a_\\x1b.c:4294967295");
	frame.is_inlined = true;
	check_label(&frame, LABEL_FOLDED, "f [inlined] a_\\x1b.c:4294967295");
	frame.file = NULL;
	check_label(&frame, LABEL_FOLDED, "f [inlined]");
}

static void expect_amount(int64_t amount, const char *unit, uint64_t largest, const char *is)
{
	cleanup_strbuf struct strbuf made = {};

	amount_put(&made, amount, unit, largest);
	assert_string_equal(made.text, is);
}

TEST(amounts_have_their_units)
{
	static const struct {
		int64_t amount;
		const char *unit, *is;
	} rows[] = {
		{ -11, NULL, "-11" },
		{ 4096, "bytes", "4096 bytes" },
		{ 1, "bytes", "1 byte" },
		{ 999, "nanoseconds", "999 ns" },
		{ 1500000, "nanoseconds", "1500.000 us" },
		{ -2500000000, "nanoseconds", "-2500.000 ms" },
		{ 25000000000, "nanoseconds", "25.000000 s" },
		{ 7, "microseconds", "7000 ns" },
		{ 25, "milliseconds", "25.000 ms" },
		{ 90, "seconds", "90.000000 s" },
		{ INT64_MAX, "seconds", "9223372036854775807 seconds" },
		{ 8, "sectors", "8 sectors" },
		{ 8, "count", "8" },
		{ 8, "", "8" },
		{ 8, "two words", "8" },
		{ 8, "\x1b[31m", "8" },
		{ 8, "abcdefghijklmnopqrstuvwxyz", "8" },
		{ INT64_MIN, "abcdefghijklmnopqrstuvwx",
		  "-9223372036854775808 abcdefghijklmnopqrstuvwx" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const int64_t n = rows[i].amount;

		expect_amount(n, rows[i].unit, (uint64_t)(n < 0 ? ~n : n), rows[i].is);
	}
}

TEST(the_largest_time_chooses_the_unit)
{
	expect_amount(1500, "nanoseconds", 25000000000, "0.000002 s");
	expect_amount(1500, "nanoseconds", 10000, "1.500 us");
	expect_amount(25, "milliseconds", 10000, "0.025000 s");
	expect_amount(90, "seconds", INT64_MAX, "90 seconds");
}

TEST_MAIN(NULL, NULL)
