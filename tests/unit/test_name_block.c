/* rooms: files unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a parser answers about names is as foreign as the file that it has read. */
#include "test.h"

#include "files/question.h"

static const char text[] = "inlined\0a.c\0main";

/* Two places, the second without a name; the first with an inlined function. */
static const struct answer_about_two {
	struct symbols_fact fact;
	struct name_fact facts[2];
	struct call_fact calls[2];
	char text[sizeof(text)];
} good = {
	.fact = { .n = 2, .n_calls = 2, .n_text = sizeof(text), .is_changed = 1 },
	.facts = { { .vaddr = 0x1008,
		     .start = 0x1000,
		     .function = 12,
		     .n_calls = 2,
		     .has = NAME_HAS_PLACE | NAME_HAS_START },
		   { .function = NO_TEXT, .call = 2 } },
	.calls = { { .name = 0, .file = 8, .line = 7 }, { .name = NO_TEXT, .file = NO_TEXT } },
	.text = "inlined\0a.c\0main",
};
#define N (offsetof(struct answer_about_two, text) + sizeof(text))

static bool read_answer(const void *bytes, size_t n, struct file_names *ret)
{
	return names_read(bytes, n, 2, false, ret);
}

TEST(what_is_put_is_read)
{
	struct file_names v;

	assert_true(read_answer(&good, N, &v));
	assert_int_equal(v.fact.n, 2);
	assert_true(v.fact.is_changed);
	assert_string_equal(names_text(&v, v.facts[0].function), "main");
	assert_null(names_text(&v, v.facts[1].function));
	assert_string_equal(names_text(&v, v.calls[0].name), "inlined");
	assert_string_equal(names_text(&v, v.calls[0].file), "a.c");
	assert_int_equal(v.calls[0].line, 7);
	assert_null(names_text(&v, v.calls[1].name));
}

TEST(no_question_is_asked_for_ever)
{
	struct answer_about_two none = { .fact.wants_debug = 1 };
	const size_t n = offsetof(struct answer_about_two, facts);
	struct file_names v;

	assert_true(names_read(&none, n, 2, false, &v));
	assert_false(names_read(&none, n, 2, true, &v));
	assert_true(names_read(&none, n, 0, true, &v));
	none.fact.wants_debug = 0;
	assert_false(names_read(&none, n, 2, false, &v));
}

/* What stands at some place of the bytes. */
struct lie {
	const char *text;
	size_t at;
	uint32_t value;
};

#define HEAD(member) offsetof(struct answer_about_two, fact.member)
#define FACT(i, member) offsetof(struct answer_about_two, facts[i].member)
#define CALL(i, member) offsetof(struct answer_about_two, calls[i].member)

TEST(what_makes_no_sense_is_refused)
{
	static const struct lie lies[] = {
		{ "more facts than offsets", HEAD(n), 3 },
		{ "facts beyond 32 bits", HEAD(n), 0x80000002 },
		{ "more calls", HEAD(n_calls), 3 },
		{ "calls beyond 32 bits", HEAD(n_calls), 0x55555558 },
		{ "less text", HEAD(n_text), 3 },
		{ "text beyond 32 bits", HEAD(n_text) + 4, 1 },
		{ "a name behind all text", FACT(0, function), 17 },
		{ "a name far behind", FACT(0, function), UINT32_MAX - 1 },
		{ "calls behind all", FACT(0, call), 1 },
		{ "calls far behind", FACT(1, call), UINT32_MAX },
		{ "a name within another one", FACT(0, function), 14 },
		{ "calls of another place", FACT(1, n_calls), 1 },
		{ "a call's name", CALL(0, name), 17 },
		{ "a call's file", CALL(1, file), 17 },
	};
	struct file_names v;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		cleanup_free char *bytes = xmalloc(N);

		memcpy(bytes, &good, N);
		memcpy(bytes + lies[i].at, &lies[i].value, sizeof(lies[i].value));
		if (read_answer(bytes, N, &v))
			fail_msg("%s", lies[i].text);
	}
}

TEST(a_part_of_it_is_refused)
{
	struct answer_about_two odd = good;
	struct file_names v;

	for (size_t part = 0; part < N; part++) {
		cleanup_free char *bytes = xmalloc(part + 1);

		memcpy(bytes, &good, part);
		assert_false(read_answer(bytes, part, &v));
	}
	odd.text[sizeof(text) - 1] = 'x'; /* the last string has no end */
	assert_false(read_answer(&odd, N, &v));
}

TEST_MAIN(NULL, NULL)
