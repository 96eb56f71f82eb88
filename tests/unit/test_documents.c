/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* JSON. tests/e2e/test_documents.py reads the golden files, too. */
#include "test.h"

#include "golden.h"
#include "profiles.h"
#include "report/writer.h"

static struct profile *empty(void)
{
	return finish_table(profile_builder_new(1), &profiles_table);
}

static const struct golden_row {
	const char *name;
	struct profile *(*make)(void);
	size_t top;
} golden_rows[] = {
	{ "document.json", profiles_full, 0 },
	{ "document_top.json", profiles_full, 2 },
	{ "document_empty.json", empty, 0 },
	{ "document_difference.json", profiles_difference, 0 },
};

static void document_is_what_the_golden_file_says(void **state)
{
	const struct golden_row *row = *state;
	cleanup_profile struct profile *p = row->make();
	cleanup_strbuf struct strbuf made = {};

	if (row->top)
		profile_choose(p, 0, row->top);
	profiles_json(p, &made);
	golden_expect(row->name, &made);
}

TEST(changes_have_no_tags)
{
	cleanup_profile struct profile *p = profiles_difference();
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
