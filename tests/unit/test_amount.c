/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "report/writer.h"

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
