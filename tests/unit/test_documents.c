/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* JSON. tests/e2e/test_documents.py reads the golden files, too. */
#include "test.h"

#include "golden.h"
#include "profile/merge.h"
#include "report/render.h"
#include "report/writer.h"
#include "report_sample.h"

/* clang-format off */
static struct frame_image full_images[] = {
	{ .path = "/usr/bin/prog", .build_id = "ab12", .start = 0x400000, .limit = 0x500000, .offset = 0x1000 },
	{ .path = "[kernel]" },
};
/* clang-format on */
/* clang-format off */
static struct frame full_frames[] = {
	{ .kind = FRAME_KERNEL, .name = "vfs_read", .image = 1, .addr = UINT64_MAX },
	{ .kind = FRAME_USER, .name = "parse(int)", .raw_name = "_Z5parsei", .module = "prog", .image = 0,
	  .addr = 0x401010, .offset = 0x10, .module_offset = 0x2010, .file_offset = 0x2010,
	  .file = "p\"a\\r\x1bse.c", .line = 12 },
	{ .kind = FRAME_USER, .is_jit = true, .name = "</script>\xff\xe2\x80\x8b", .image = NO_IMAGE,
	  .is_inlined = true },
	{ .kind = FRAME_USER, .module = "prog", .image = 0, .is_in_file = true },
	{ .kind = FRAME_CUT, .name = "depth", .image = NO_IMAGE },
	{ .kind = FRAME_UNVERIFIED, .name = "frame pointers", .image = NO_IMAGE },
};
/* clang-format on */

static const struct frame_table full_table = {
	.frames = full_frames, .n = ARRAY_SIZE(full_frames), .images = full_images, .n_images = 2
};

/* A report with everything that a document can show. */
static struct profile *full_report(int64_t factor)
{
	static const uint32_t row[] = { 0, 1, 2, 3, 4, 5 };
	const int64_t more[] = { 1000 * factor, -5 };
	struct profile_builder *b = profile_builder_new(3);

	profile_builder_slice(b, 0, 100);
	profile_builder_slice(b, 100, UINT64_MAX);
	for (uint32_t i = 0; i <= ARRAY_SIZE(row); i++) {
		const struct profile_stack stack = {
			.count = (i + 1) * factor,
			.more = more,
			.frames = row,
			.n_kernel = i ? 1 : 0,
			.n_user = i ? i - 1 : 0,
			.pid = i,
			.comm = i % 2 ? "t\"a\\r" : NULL,
		};
		const uint32_t number = profile_builder_add(b, &stack);

		profile_builder_part(b, number, 0, factor);
		if (i)
			profile_builder_part(b, number, 1, i * factor);
	}

	struct profile *p = finish_table(b, &full_table);

	p->values[1] = (struct profile_value){ "time", "nanoseconds" };
	p->values[2] = (struct profile_value){ "si\"ze\\\n", NULL };
	p->about = (struct profile_about){ .program = "stackcount 1",
					   .command_line = "stackcount -p 7 'a\"b\\c\nd'",
					   .host = "h\xff",
					   .begin_ns = 1771000000123456789,
					   .duration_ns = 1500000000,
					   .cost_ns = 1234.5 };
	profile_add_loss(p, "no room for a new stack", 10);
	profile_add_loss(p, "o\"d\\d\n", UINT64_MAX);
	profile_add_loss(p, "no room for a new stack", 2);
	return p;
}

static struct strbuf rendered_json(const struct profile *p)
{
	cleanup_changes struct changes *changes =
		p->is_difference ? changes_of_difference(p) : NULL;
	const struct render_style style = { .per_process = true, .changes = changes };
	struct strbuf made = {};

	assert_int_equal(render_json(p, &style, to_strbuf, &made), 0);
	return made;
}

enum content { FULL, TOP, EMPTY, DIFFERENCE };

static struct profile *content_of(enum content of)
{
	struct profile *p, *before, *after;

	switch (of) {
	case EMPTY:
		return finish_table(profile_builder_new(1), &table);
	case DIFFERENCE:
		before = full_report(2);
		after = full_report(3);
		p = difference_of(after, before, false);
		profile_free(before);
		profile_free(after);
		return p;
	default:
		p = full_report(1);
		profile_choose(p, 0, of == TOP ? 2 : 0);
		return p;
	}
}

static const struct golden_row {
	const char *name;
	enum content of;
} golden_rows[] = {
	{ "document.json", FULL },
	{ "document_top.json", TOP },
	{ "document_empty.json", EMPTY },
	{ "document_difference.json", DIFFERENCE },
};

static void document_is_what_the_golden_file_says(void **state)
{
	const struct golden_row *row = *state;
	cleanup_profile struct profile *p = content_of(row->of);
	cleanup_strbuf struct strbuf made = rendered_json(p);

	golden_expect(row->name, &made);
}

TEST(changes_have_no_tags)
{
	cleanup_profile struct profile *p = content_of(DIFFERENCE);
	cleanup_changes struct changes *c = changes_of_difference(p);
	cleanup_strbuf struct strbuf made = {};
	cleanup_writer struct writer w = { .write = to_strbuf, .context = &made };

	changes_put_json(&w, c, SIZE_MAX);
	assert_int_equal(writer_flush(&w), 0);
	assert_null(strchr(made.text, '<'));
	assert_non_null(strstr(made.text, "\\u003c/script>"));
	strbuf_clear(&made);
	changes_put_json(&w, c, 0);
	assert_int_equal(writer_flush(&w), 0);
	assert_non_null(strstr(made.text, "\"functions\":[]}"));
}

/* --- claims, as text and as JSON --- */

static struct profile *sliced(int64_t count)
{
	static struct frame frames[] = { { .kind = FRAME_USER, .name = "hot" },
					 { .kind = FRAME_USER, .name = "even" } };
	const struct frame_table names = { .frames = frames, .n = 2 };
	struct profile_builder *b = profile_builder_new(1);

	for (uint32_t s = 0; s < 20; s++) {
		profile_builder_slice(b, s, s + 1);
		for (uint32_t f = 0; f < 2; f++) {
			const int64_t n = f ? 100 + s % 3 : count + s % 5;

			profile_builder_part(b, ADD(b, .count = n, .frames = &f, .n_user = 1), s,
					     n);
		}
	}

	return finish_table(b, &names);
}

TEST(claims_are_marked_in_every_form)
{
	struct profile *before = sliced(100), *after = sliced(150);
	const struct profile *both[] = { after, before };
	const struct profile_sides sides = { both, 2, 1 };
	cleanup_changes struct changes *c = changes_new(&sides, false);
	cleanup_profile struct profile *p = difference_of(after, before, false);
	const struct render_style style = { .changes = c };
	cleanup_strbuf struct strbuf made = {};

	assert_int_equal(render_tree(p, &style, to_strbuf, &made), 0);
	assert_non_null(strstr(made.text, "+1000 * hot\n"));
	assert_null(strstr(made.text, "* even"));
	assert_non_null(strstr(made.text, "* beyond noise: by more than three standard errors, "
					  "known from slices of time (20 before, 20 after).\n"));
	strbuf_clear(&made);
	assert_int_equal(render_text(p, &style, to_strbuf, &made), 0);
	assert_non_null(strstr(made.text, "+1000 * hot\n"));
	strbuf_clear(&made);
	assert_int_equal(render_json(p, &style, to_strbuf, &made), 0);
	assert_non_null(strstr(made.text, "\"beyond_noise\":true"));
	assert_non_null(strstr(made.text, "\"basis\":\"slices\",\"n_before\":20,\"n_after\":20,"));
	profile_free(before);
	profile_free(after);
}

TEST_ROWS(golden_rows, document_is_what_the_golden_file_says)

TEST_MAIN(NULL, NULL)
