/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Single events against files in tests/golden: event_FORM_OPTIONS.txt, of the same events each
 * time. See golden.h.
 */
#include "test.h"

#include "golden.h"
#include "report/event.h"
#include "report_sample.h"

#define HOSTILE "a;b\n\x1b[2J\"\\\xc2\x9b\xe2\x80\xae\xff"

struct sample {
	struct event_head head;
	uint32_t n_kernel, n_user;
	uint32_t frames[8];
};

/* One of each thing that can be in an event. */
static const struct sample samples[] = {
	{ { "42005557.056332998", "sync", 22352, 22352, 1, NULL }, 2, 2, { 0, 1, 4, 5 } },
	{ { "42005557.056332999", "jbd2/xvda1-8", 405, 405, 0, NULL }, 3, 0, { 0, 2, 3 } },
	{ { "42005557.056333000", "java", 7, 8, 0, NULL }, 0, 4, { 4, 6, 7, 14 } },
	{ { "0.000000001", "swapper/0", 0, 0, 0, NULL }, 0, 0, {} },
	{ { "51131.056332998", "", 1, 1, 10, NULL }, 2, 3, { 0, 9, 4, 15, 16 } },
	{ { "1795269282.000000001", "fifteen letters", UINT32_MAX, UINT32_MAX, 4095, NULL },
	  0,
	  1,
	  { 17 } },
	{ { "9.000000000", HOSTILE, 4194304, 4194305, 255, NULL }, 0, 2, { 11, 12 } },
	{ { "9.000000001", "chromium", 22, 23, 1, NULL }, 0, 3, { 4, 18, 9 } },
};

static void render(const struct event_style *style, const struct sample *s, struct writer *w)
{
	const struct profile_stack stack = { .frames = s->frames,
					     .n_kernel = s->n_kernel,
					     .n_user = s->n_user };
	cleanup_strbuf struct strbuf template = {};

	event_put_template(&template, style, &table, &stack);
	(void)event_render(w, style, &s->head, template.text, template.n);
}

/* All samples, with what stands above them in text. */
static void render_samples(const struct event_style *style, struct strbuf *to)
{
	cleanup_writer struct writer w = { .write = to_strbuf, .context = to };

	if (!style->is_json && style->label.form == LABEL_TEXT)
		event_put_header(to, style);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		render(style, &samples[i], &w);
	assert_int_equal(writer_flush(&w), 0);
}

/* clang-format off */
static const struct golden_row {
	const char *name, *file;
	struct event_style style;
} golden_rows[] = {
	{ "events as text", "event_text.txt", {} },
	{ "events as text -v", "event_text_v.txt", { .label = { .places = true } } },
	{ "events as text -s -v", "event_text_sv.txt", { .label = { true, true, LABEL_TEXT } } },
	{ "events folded", "event_folded.txt", { .label = { .form = LABEL_FOLDED } } },
	{ "events folded -v", "event_folded_v.txt", { .label = { false, true, LABEL_FOLDED } } },
	{ "events folded -s -v", "event_folded_sv.txt", { .label = { true, true, LABEL_FOLDED } } },
	{ "events as JSON", "event_json.txt", { .is_json = true } },
};
/* clang-format on */

static void events_are_what_the_golden_file_says(void **state)
{
	const struct golden_row *row = *state;
	cleanup_strbuf struct strbuf made = {};

	render_samples(&row->style, &made);
	golden_expect(row->file, &made);
}

TEST_ROWS(golden_rows, events_are_what_the_golden_file_says)

static void expect(const struct event_style *style, const struct sample *s, const char *expected)
{
	cleanup_strbuf struct strbuf made = {};
	cleanup_writer struct writer w = { .write = to_strbuf, .context = &made };

	render(style, s, &w);
	assert_int_equal(writer_flush(&w), 0);
	assert_string_equal(made.text, expected);
}

/* Text has it in a column, whose title has the unit. Folded lines have it as their number. */
TEST(an_event_has_its_value_in_each_form)
{
	struct event_style text = { .label = { .places = true } };
	struct event_style folded = { .label = { .form = LABEL_FOLDED } },
			   json = { .is_json = true };
	struct event_style sectors = {}, plain = {};
	struct sample s = { { "1.000000000", "dd", 7, 7, 1, "-4096" }, 1, 0, { 0 } };
	cleanup_strbuf struct strbuf header = {};

	event_set_value(&text, "nanoseconds");
	event_set_value(&folded, "bytes");
	event_set_value(&json, "bytes");
	event_set_value(&sectors, "kilo-sectors");
	event_set_value(&plain, NULL);
	event_put_header(&header, &text);
	event_put_header(&header, &sectors);
	event_put_header(&header, &plain);
	assert_string_equal(header.text,
			    "TIME(s)            COMM         PID    CPU VALUE(ns)    STACK\n"
			    "TIME(s)            VALUE(kilo-sectors) STACK\n"
			    "TIME(s)            VALUE        STACK\n");
	expect(&text, &s,
	       "1.000000000        dd           7      1   -4096        \n"
	       "1.000000000        dd           7      1   -4096        ip: ffffffff812a4b70 "
	       "vfs_read\n");
	expect(&sectors, &s,
	       "1.000000000        -4096               \n"
	       "1.000000000        -4096               ip: ffffffff812a4b70 vfs_read\n");
	expect(&folded, &s, "dd;vfs_read -4096\n");
	s.n_kernel = 0;
	expect(&json, &s,
	       "{\"time\":1.000000000,\"comm\":\"dd\",\"pid\":7,\"tid\":7,\"cpu\":1,"
	       "\"value\":-4096,\"unit\":\"bytes\",\"kernel\":[],\"user\":[]}\n");
	s.head.value = NULL;
	event_set_value(&json, NULL);
	expect(&json, &s,
	       "{\"time\":1.000000000,\"comm\":\"dd\",\"pid\":7,\"tid\":7,\"cpu\":1,"
	       "\"value\":null,\"kernel\":[],\"user\":[]}\n");
	expect(&plain, &s, "1.000000000        -            \n");
	expect(&folded, &s, "dd 0\n");
}

/* A template of 127 frames, and more of them than a writer keeps. */
TEST(events_of_any_size_are_written_whole)
{
	static const struct event_style style = {};
	static const struct event_head head = { .time = "1.000000000", .comm = "" };
	static const uint32_t many[2 * 127] = {};
	const struct profile_stack stack = { .frames = many, .n_kernel = 127, .n_user = 127 };
	cleanup_strbuf struct strbuf template = {}, made = {};
	cleanup_writer struct writer w = { .write = to_strbuf, .context = &made };
	size_t n_lines = 0;

	event_put_template(&template, &style, &table, &stack);
	for (int i = 0; i < 20; i++)
		(void)event_render(&w, &style, &head, template.text, template.n);
	assert_int_equal(writer_flush(&w), 0);
	for (const char *at = made.text; at < made.text + made.n; at = strchr(at, '\n') + 1) {
		assert_memory_equal(at, "1.000000000        ", 19);
		n_lines++;
	}
	assert_int_equal(n_lines, 20 * (1 + 2 * 127));
	assert_non_null(strstr(made.text, " r125: "));
	assert_non_null(strstr(made.text, " u126: "));
}

TEST_MAIN(NULL, NULL)
