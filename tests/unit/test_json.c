/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "report/json.h"

TEST(strings_are_what_a_parser_reads_back)
{
	static const struct {
		const char *text;
		const char *json;
	} cases[] = {
		{ "", "\"\"" },
		{ "vfs_read", "\"vfs_read\"" },
		{ "say \"hi\" \\ /", "\"say \\\"hi\\\" \\\\ /\"" },
		{ "a\nb\tc\rd\be\ff", "\"a\\nb\\tc\\rd\\be\\ff\"" },
		{ "\x1b[31m\x7f\x01", "\"\\u001b[31m\\u007f\\u0001\"" },
		{ "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
		  "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"" },
		{ "\xc2\x9b"
		  "1m",
		  "\"\\u009b1m\"" },
		{ "\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\"" },
		{ "\xef\xbb\xbf\xe2\x80\x8b\xc2\xad", "\"\\ufeff\\u200b\\u00ad\"" },
		{ "\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"" }, /* a tag, past 16 bits */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_strbuf struct strbuf b = {};

		json_put_string(&b, cases[i].text);
		assert_string_equal(b.text, cases[i].json);
	}
}

/* A lone byte, an overlong form, a surrogate, a number past the last, and a cut character. */
TEST(each_invalid_byte_is_a_replacement_character)
{
	static const struct {
		const char *text;
		size_t n_replaced;
	} cases[] = {
		{ "\xff", 1 },         { "\xc0\xaf", 2 },
		{ "\xed\xa0\x80", 3 }, { "\xf4\x90\x80\x80", 4 },
		{ "\xe2\x82", 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_strbuf struct strbuf b = {}, wanted = {};

		json_put_string(&b, cases[i].text);
		strbuf_putc(&wanted, '"');
		for (size_t k = 0; k < cases[i].n_replaced; k++)
			strbuf_puts(&wanted, "\xef\xbf\xbd");
		strbuf_putc(&wanted, '"');
		assert_string_equal(b.text, wanted.text);
	}
}

TEST_MAIN(NULL, NULL)
