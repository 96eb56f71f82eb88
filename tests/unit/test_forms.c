/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Laws of every form of output. */
#include "test.h"

#include "base/utf8.h"
#include "report/render.h"
#include "report_sample.h"

/* Takes so many pieces, then refuses. */
struct sink {
	size_t n_good, n_calls, n_bytes;
};

static int count_or_refuse(void *context, const char *bytes, size_t n)
{
	struct sink *sink = context;

	assert_true(n > 0);
	sink->n_bytes += n;
	return sink->n_calls++ < sink->n_good ? 0 : -32;
}

/* Takes hours where a stack costs more, the more stacks there are. */
TEST(two_hundred_thousand_stacks_are_written)
{
	const struct render_style style = { .addresses = true, .offsets = true };
	cleanup_profile struct profile *p = large_profile(200000, 20);

	for (const struct renderer *form = renderers; form->name; form++) {
		struct sink sink = { .n_good = SIZE_MAX };

		assert_int_equal(form->render(p, &style, count_or_refuse, &sink), 0);
		assert_true(sink.n_bytes > (form->is_whole ? 100000 : (size_t)200000 * 20 * 2));
	}
}

TEST(a_sink_that_fails_is_not_asked_again)
{
	const struct render_style style = { .per_process = true };
	cleanup_profile struct profile *p = large_profile(20000, 10);

	for (const struct renderer *form = renderers; form->name; form++)
		for (size_t n_good = 0; n_good < (form->is_whole ? 1 : 3); n_good++) {
			struct sink sink = { .n_good = n_good };

			assert_int_equal(form->render(p, &style, count_or_refuse, &sink), -32);
			assert_int_equal(sink.n_calls, n_good + 1);
		}
}

static const struct {
	render_function *render;
	size_t n_lines; /* of one stack of two frames, and a loss */
} rows[] = { { render_text, 7 }, { render_folded, 1 }, { render_tree, 8 }, { render_json, 1 } };

/* A stack of a frame "x" and one of that name. */
static struct profile *named(const char *name, const char *file)
{
	struct frame frames[] = { { .name = "x" }, { .name = name, .module = name, .file = file } };
	const struct frame_table names = { .frames = frames, .n = 2 };
	struct profile_builder *b = profile_builder_new(1);
	const uint32_t row[] = { 0, 1 };

	add(b, 12, 3, name, 1, 1, row);
	return finish(b, &names);
}

/* Whatever a name is made of: text that a terminal shows, with a line for each thing. */
TEST(no_name_breaks_a_line)
{
	for (int byte = 1; byte < 256; byte++) {
		char name[] = { 'a', (char)byte, 'b', '\0' };
		const struct render_style style = { .per_process = true };
		cleanup_profile struct profile *p = named(name, name);

		p->about.command_line = name;
		profile_add_loss(p, name, 1);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			cleanup_strbuf struct strbuf made = {};
			size_t n_lines = 0, n_parts = 1;

			assert_int_equal(rows[i].render(p, &style, to_strbuf, &made), 0);
			for (size_t at = 0, n; at < made.n; at += n) {
				uint32_t c;

				n = utf8_at((const unsigned char *)made.text + at, &c);
				assert_true(n > 0);
				assert_true(c == '\n' || !utf8_is_active(c));
				n_lines += c == '\n';
				n_parts += c == ';';
			}
			assert_int_equal(n_lines, rows[i].n_lines);
			if (rows[i].render != render_folded)
				continue;
			assert_int_equal(n_parts, 3);
			assert_string_equal(strrchr(made.text, ' '), " 12\n");
		}
	}
}

TEST(a_name_longer_than_the_buffer_is_written_whole)
{
	enum { N = 200000 };
	const struct render_style style = { .colours = true };
	cleanup_free char *name = xcalloc(1, N + 1);

	memset(name, 'n', N);

	cleanup_profile struct profile *p = named(name, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_strbuf struct strbuf made = {};

		assert_int_equal(rows[i].render(p, &style, to_strbuf, &made), 0);
		assert_non_null(strstr(made.text, name));
	}
}

TEST_MAIN(NULL, NULL)
