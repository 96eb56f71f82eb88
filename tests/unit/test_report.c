/* rooms: report base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "report/report.h"

static void add(struct report *r, uint64_t count, uint32_t pid, uint32_t n_kernel, uint32_t n_user,
		const uint32_t *frames)
{
	struct report_entry entry = {
		.count = count, .frames = frames, .n_kernel = n_kernel, .n_user = n_user, .pid = pid
	};

	report_add(r, &entry);
}

static void an_empty_report_has_nothing(void **state)
{
	(void)state;
	struct report *r = report_new();
	size_t n_hidden = 7;

	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 0);
	assert_int_equal(report_total(r), 0);
	assert_int_equal(report_hidden(r, &n_hidden), 0);
	assert_int_equal(n_hidden, 0);
	report_freep(&r);
	assert_null(r);
	report_free(NULL);
}

static void equal_frames_of_one_process_are_one_entry(void **state)
{
	(void)state;
	struct report *r = report_new();
	uint32_t frames[] = { 4, 9, 2 };

	add(r, 3, 0, 1, 2, frames);
	add(r, 4, 0, 1, 2, frames);
	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 1);

	const struct report_entry *entry = report_entry_at(r, 0);

	assert_int_equal(entry->count, 7);
	assert_int_equal(entry->n_kernel, 1);
	assert_int_equal(entry->n_user, 2);
	assert_memory_equal(entry->frames, frames, sizeof(frames));
	report_free(r);
}

static void entries_differ_by_pid_and_by_where_user_frames_begin(void **state)
{
	(void)state;
	struct report *r = report_new();
	uint32_t frames[] = { 4, 9, 2 };

	add(r, 1, 0, 1, 2, frames);
	add(r, 1, 0, 2, 1, frames);
	add(r, 1, 5, 1, 2, frames);
	add(r, 1, 0, 1, 1, frames);
	add(r, 1, 0, 0, 0, frames);
	add(r, 1, 5, 0, 0, NULL);
	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 6);
	report_free(r);
}

static void without_pids_entries_differ_by_the_name_of_the_process(void **state)
{
	static const char *const names[] = { "sh", "true", "sh", NULL };
	struct report *r = report_new();
	char copy[] = "sh";
	uint32_t frames[] = { 4, 9 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct report_entry entry = { .count = 1, .frames = frames, .n_user = 2 };

		entry.comm = i == 2 ? copy : names[i];
		report_add(r, &entry);
	}
	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 3);
	assert_string_equal(report_entry_at(r, 2)->comm, "sh");
	assert_int_equal(report_entry_at(r, 2)->count, 2);
	report_free(r);
}

static void a_process_that_names_itself_otherwise_is_told_apart_by_name(void **state)
{
	static const char *const names[] = { "before", "after", "before", "" };
	struct report *r = report_new();
	uint32_t frames[] = { 4, 9 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct report_entry entry = { .count = 1, .frames = frames, .n_user = 2, .pid = 7 };

		entry.comm = names[i];
		report_add(r, &entry);
	}
	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 3);
	assert_string_equal(report_entry_at(r, 2)->comm, "before");
	assert_int_equal(report_entry_at(r, 2)->count, 2);
	report_free(r);
}

static void frames_are_copied(void **state)
{
	(void)state;
	struct report *r = report_new();
	uint32_t frames[] = { 1, 2 };

	add(r, 1, 0, 2, 0, frames);
	frames[0] = 77;
	report_finish(r, 0, 0);
	assert_int_equal(report_entry_at(r, 0)->frames[0], 1);
	report_free(r);
}

static void the_name_of_a_process_is_kept_once_it_is_known(void **state)
{
	(void)state;
	struct report *r = report_new();
	uint32_t frames[] = { 1 };
	struct report_entry entry = { .count = 1, .frames = frames, .n_kernel = 1, .pid = 9 };

	report_add(r, &entry);
	entry.comm = "late";
	report_add(r, &entry);
	report_finish(r, 0, 0);
	assert_string_equal(report_entry_at(r, 0)->comm, "late");
	report_free(r);
}

static void equal_counts_stay_in_the_order_in_which_they_were_added(void **state)
{
	(void)state;
	struct report *r = report_new();

	for (uint32_t i = 0; i < 1000; i++)
		add(r, i % 3 + 1, 0, 1, 0, &i);
	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 1000);
	for (size_t i = 1; i < 1000; i++) {
		const struct report_entry *before = report_entry_at(r, i - 1);
		const struct report_entry *entry = report_entry_at(r, i);

		assert_true(before->count <= entry->count);
		if (before->count == entry->count)
			assert_true(before->frames[0] < entry->frames[0]);
	}
	report_free(r);
}

static void min_and_top_leave_out_the_rare_and_say_how_much(void **state)
{
	(void)state;
	struct report *r = report_new();
	size_t n_hidden;

	for (uint32_t i = 1; i <= 10; i++)
		add(r, i, 0, 1, 0, &i);
	report_finish(r, 3, 4);
	assert_int_equal(report_n(r), 4);
	assert_int_equal(report_entry_at(r, 0)->count, 7);
	assert_int_equal(report_entry_at(r, 3)->count, 10);
	assert_int_equal(report_total(r), 55);
	assert_int_equal(report_hidden(r, &n_hidden), 21);
	assert_int_equal(n_hidden, 6);
	report_free(r);
}

static void min_alone_keeps_what_counts_as_much(void **state)
{
	(void)state;
	struct report *r = report_new();

	for (uint32_t i = 1; i <= 10; i++)
		add(r, i, 0, 1, 0, &i);
	report_finish(r, 9, 0);
	assert_int_equal(report_n(r), 2);
	assert_int_equal(report_hidden(r, NULL), 36);
	report_free(r);
}

static void top_beyond_the_number_of_entries_keeps_all(void **state)
{
	(void)state;
	struct report *r = report_new();

	for (uint32_t i = 1; i <= 10; i++)
		add(r, i, 0, 1, 0, &i);
	report_finish(r, 0, 1000);
	assert_int_equal(report_n(r), 10);
	assert_int_equal(report_hidden(r, NULL), 0);
	report_free(r);
}

static void a_row_longer_than_a_block_of_the_pool_is_kept_whole(void **state)
{
	(void)state;
	enum { N = 100000 };
	struct report *r = report_new();
	uint32_t *frames = calloc(N, sizeof(*frames));
	uint32_t small = 3;

	for (uint32_t i = 0; i < N; i++)
		frames[i] = i;
	add(r, 1, 0, 1, 0, &small);
	add(r, 2, 0, N, 0, frames);
	add(r, 3, 1, 1, 0, &small);
	report_finish(r, 0, 0);
	assert_int_equal(report_n(r), 3);
	assert_memory_equal(report_entry_at(r, 1)->frames, frames, N * sizeof(*frames));
	assert_int_equal(report_entry_at(r, 2)->frames[0], 3);
	free(frames);
	report_free(r);
}

/* The row of entry @i, of its own length and frames. */
static uint32_t make_row(uint32_t i, uint32_t *frames)
{
	uint32_t n = 1 + hash_mix(i) % 30;

	frames[0] = i;
	for (uint32_t f = 1; f < n; f++)
		frames[f] = hash_mix(((uint64_t)i << 8) + f) % 50;
	return n;
}

static void two_hundred_thousand_random_entries_are_counted_exactly(void **state)
{
	(void)state;
	enum { N = 200000, ROWS = 70000 };
	struct report *r = report_new();
	uint64_t *expected = calloc(ROWS, sizeof(*expected));
	uint64_t total = 0, seen = 0;
	uint32_t frames[32];

	for (uint64_t i = 0; i < N; i++) {
		uint32_t row = hash_mix(i + 1) % ROWS;
		uint64_t count = hash_mix(i * 3 + 1) % 100;
		uint32_t n = make_row(row, frames);

		add(r, count, 0, n / 2, n - n / 2, frames);
		expected[row] += count;
		total += count;
	}
	report_finish(r, 0, 0);
	assert_int_equal(report_total(r), total);
	for (size_t i = 0; i < report_n(r); i++) {
		const struct report_entry *entry = report_entry_at(r, i);
		uint32_t row = entry->frames[0];
		uint32_t n = make_row(row, frames);

		assert_int_equal(entry->n_kernel + entry->n_user, n);
		assert_memory_equal(entry->frames, frames, n * sizeof(*frames));
		assert_int_equal(entry->count, expected[row]);
		seen += entry->count;
		expected[row] = 0; /* a second one of the row would be found */
	}
	assert_int_equal(seen, total);
	assert_true(report_bytes(r) < 64 << 20);
	free(expected);
	report_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_has_nothing),
		cmocka_unit_test(equal_frames_of_one_process_are_one_entry),
		cmocka_unit_test(entries_differ_by_pid_and_by_where_user_frames_begin),
		cmocka_unit_test(without_pids_entries_differ_by_the_name_of_the_process),
		cmocka_unit_test(a_process_that_names_itself_otherwise_is_told_apart_by_name),
		cmocka_unit_test(frames_are_copied),
		cmocka_unit_test(the_name_of_a_process_is_kept_once_it_is_known),
		cmocka_unit_test(equal_counts_stay_in_the_order_in_which_they_were_added),
		cmocka_unit_test(min_and_top_leave_out_the_rare_and_say_how_much),
		cmocka_unit_test(min_alone_keeps_what_counts_as_much),
		cmocka_unit_test(top_beyond_the_number_of_entries_keeps_all),
		cmocka_unit_test(a_row_longer_than_a_block_of_the_pool_is_kept_whole),
		cmocka_unit_test(two_hundred_thousand_random_entries_are_counted_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
