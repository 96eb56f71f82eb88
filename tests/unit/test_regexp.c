/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/regexp.h"
#include "base/strbuf.h"

static char *repeated(const char *text, unsigned n, const char *middle, const char *end)
{
	struct strbuf b = {};

	for (unsigned i = 0; i < n; i++)
		strbuf_puts(&b, text);
	strbuf_puts(&b, middle);
	for (unsigned i = 0; i < n; i++)
		strbuf_puts(&b, end);
	return b.text;
}

TEST(one_that_takes_all_memory_or_ages_is_refused)
{
	static const char costly[] = ": it takes too much time or memory";
	const struct {
		char *text; /* owned */
		const char *why;
	} rows[] = {
		{ xstrdup("((((a{1,100}){1,100}){1,100}){1,100})"), costly },
		{ xstrdup("a{1,30000}"), costly },
		{ xstrdup("^3********+++++"), costly },
		{ repeated("", 30, "a", "+"), costly },
		{ repeated("(", 200000, "a", ")"), costly },
		{ xstrdup("^3***+++"), costly },
		{ xstrdup("^(){1,300}"), costly },
		{ repeated("", 40, "^", "(a*b*)*"), costly },
		{ xstrdup("(.*[a-m].{20}|(.?){1000}y)x~"), costly }, /* only when it is matched */
		{ xstrdup("((a*)*)*\\1c"), ": back-references (\\1) are not supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(regexp_freep) struct regexp *r = NULL;
		struct error e = {};

		assert_int_equal(regexp_new(rows[i].text, &r, &e), -EINVAL);
		if (!strstr(e.text, rows[i].why))
			fail_msg("%s", e.text);
		free(rows[i].text);
	}
}

TEST(an_ordinary_one_is_not_taken_for_a_costly_one)
{
	cleanup_free char *list = repeated("tcp_sendmsg|", 340, "x", "");
	const char *const texts[] = {
		list,
		"^(vfs_(read|write)|[^]+{a-z]+\\.{0,1}[[:alpha:]{9999]*)$",
		"a{2,}b{,7}c{3}",
		"(a{1,40}){1,40}",
		"(.?){500}",
		"((a*)*)*",
		"(a|b)*a(a|b){18}",
		"(^|_)(read|write)(_|$)",
		"[\\1[:alpha:]\\2]{5}",
		"\\\\1",
		"\\{9999\\}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cleanup(regexp_freep) struct regexp *r = NULL;
		struct error e = {};

		if (regexp_new(texts[i], &r, &e) != 0)
			fail_msg("%s: %s", texts[i], e.text);
	}
}

/* Compiled anew in between. */
TEST(one_matches_alike_however_often)
{
	cleanup(regexp_freep) struct regexp *r = NULL;
	struct error e = {};

	assert_int_equal(regexp_new(".*[a-m].{3}x", &r, &e), 0);
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(regexp_matches(r, "zzhzzzxzz"));
		assert_false(regexp_matches(r, "zznzzzxzz"));
	}
}

/* Upper case letters, which no name has that the expression is tried with. */
static char *long_name(void)
{
	struct strbuf b = {};
	uint32_t random = 1;

	for (unsigned i = 0; i < 20000; i++) {
		random = random * 1664525 + 1013904223;
		strbuf_printf(&b, "%c", "abcXYZ019_"[(random >> 16) % 10]);
	}
	return b.text;
}

/* To look for it in the whole name takes minutes. */
TEST(it_gives_up_within_a_name)
{
	cleanup(regexp_freep) struct regexp *r = NULL;
	cleanup_free char *name = long_name();
	struct error e = {};

	assert_int_equal(regexp_new("(.*[A-Z0-9].{20}|(.?){300}y)x~", &r, &e), 0);
	assert_false(regexp_matches(r, "a short one"));
	assert_int_equal(regexp_check(r, &e), 0);
	assert_false(regexp_matches(r, name));
	assert_int_equal(regexp_check(r, &e), -EINVAL);
	assert_string_equal(e.text, "bad regular expression '(.*[A-Z0-9].{20}|(.?){300}y)x~': it "
				    "takes too much time or memory");
	assert_false(regexp_matches(r, "a1234567890123456789012345678x~"));
}

TEST(what_stands_at_the_end_of_a_long_name_is_found)
{
	cleanup(regexp_freep) struct regexp *end = NULL, *whole = NULL;
	cleanup_free char *name = long_name();
	struct error e = {};

	assert_int_equal(regexp_new("9$", &end, &e), 0);
	assert_int_equal(regexp_new("^[a-cX-Z0-9_]*9$", &whole, &e), 0);
	name[10000] = '9';
	name[10001] = '\0';
	assert_true(regexp_matches(end, name));
	assert_true(regexp_matches(whole, name));
	name[10000] = '8';
	assert_false(regexp_matches(end, name));
	assert_false(regexp_matches(whole, name));
}

TEST_MAIN(NULL, NULL)
