/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Slices of time: their number, that no hit is lost or counted twice, and the rows of the last one.
 */
#include "test.h"

#include "tool/slices.h"

#define N 50
#define PLENTY ((size_t)1 << 30)

/* In each step, row i gets i % 3 hits more, and there is a further row at each second step. */
static size_t grow_rows(struct store_row *rows, size_t step)
{
	const size_t n = step / 2 + 1 < N ? step / 2 + 1 : N;

	for (size_t i = 0; i < n; i++) {
		rows[i].count += i % 3;
		rows[i].sum += i % 3 ? (int64_t)step - 100 : 0;
	}
	return n;
}

static void run_steps(struct slices *s, struct store_row *rows, size_t n_steps)
{
	for (size_t step = 0; step < n_steps; step++) {
		const size_t n = grow_rows(rows, step);

		slices_end_one(s, rows, n, 1000 + (step + 1) * 10, NULL);
	}
}

static void expect_sums(const struct slices *s, const struct store_row *rows)
{
	int64_t sums[N] = {};

	for (size_t i = 0; i < s->n_parts; i++) {
		assert_true(s->parts[i].slice < s->n);
		sums[s->parts[i].stack] += s->parts[i].count;
	}
	for (size_t i = 0; i < N; i++)
		assert_true(sums[i] == (s->of_sums ? rows[i].sum : (int64_t)rows[i].count));
}

static void expect_no_gaps(const struct slices *s, uint64_t end)
{
	assert_int_equal(s->slices[0].begin_ns, 0);
	for (size_t i = 1; i < s->n; i++)
		assert_int_equal(s->slices[i].begin_ns, s->slices[i - 1].end_ns);
	assert_int_equal(s->slices[s->n - 1].end_ns, end);
}

TEST(parts_add_up_whatever_the_number_of_slices)
{
	for (size_t n_steps = 1; n_steps < 700; n_steps += 23) {
		struct store_row rows[N] = {};
		struct slices s = { .is_growing = true,
				    .of_sums = n_steps % 2,
				    .most_bytes = PLENTY };

		slices_begin(&s, 1000);
		run_steps(&s, rows, n_steps);
		expect_sums(&s, rows);
		expect_no_gaps(&s, n_steps * 10);
		assert_true(s.n <= MOST_SLICES);
		assert_true(n_steps < MOST_SLICES ? s.n == n_steps : s.n >= MOST_SLICES / 2);
		slices_fini(&s);
	}
}

TEST(slices_become_twice_as_long)
{
	struct store_row rows[N] = {};
	cleanup(slices_fini) struct slices s = { .is_growing = true, .most_bytes = PLENTY };

	slices_begin(&s, 1000);
	assert_int_equal(s.due_ns, 1000 + FIRST_SLICE_NS);
	run_steps(&s, rows, MOST_SLICES);
	assert_int_equal(s.length_ns, FIRST_SLICE_NS);
	run_steps(&s, rows, 1);
	assert_int_equal(s.length_ns, 2 * FIRST_SLICE_NS);
}

TEST(little_memory_leaves_fewer_slices)
{
	struct store_row rows[N] = {};
	cleanup(slices_fini) struct slices s = { .is_growing = true,
						 .most_bytes = 100 * sizeof(struct profile_part) };

	slices_begin(&s, 1000);
	run_steps(&s, rows, 500);
	expect_sums(&s, rows);
	assert_true(s.n < MOST_SLICES / 2);
	assert_true(s.n_parts <= 100 + N);
}

TEST(intervals_are_the_user_s)
{
	struct store_row rows[N] = {};
	cleanup(slices_fini) struct slices s = { .is_growing = false, .most_bytes = PLENTY };

	slices_begin(&s, 1000);
	run_steps(&s, rows, 500);
	assert_int_equal(s.n, 500);
	assert_true(s.due_ns == UINT64_MAX);
	run_steps(&s, rows, 1500);
	assert_true(s.n > 500 && s.n <= 1024);
	expect_sums(&s, rows);
}

TEST(rows_of_the_last_slice)
{
	struct store_row rows[N] = {};
	cleanup(slices_fini) struct slices s = { .is_growing = true, .most_bytes = PLENTY };

	slices_begin(&s, 1000);
	for (size_t step = 0; step < 300; step++) {
		const size_t n_rows = grow_rows(rows, step);

		struct store_row last[N];
		const size_t n = slices_end_one(&s, rows, n_rows, 1000 + step * 10, last);
		size_t n_hit = 0;

		for (size_t i = 0; i < n_rows; i++)
			n_hit += i % 3 != 0;
		assert_int_equal(n, n_hit);
		for (size_t i = 0; i < n; i++)
			assert_in_range(last[i].count, 1, 2);
	}
}

TEST_MAIN(NULL, NULL)
