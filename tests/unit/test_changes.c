/* rooms: profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "profile/changes.h"
#include "profile/merge.h"
#include "stacks.h"

enum { N_FUNCTIONS = 20 };

/* Function i is called by main, every second one by way of "middle". */
static uint32_t put_stack(struct profile_builder *b, uint32_t i, int64_t count)
{
	const uint32_t row[] = { i, N_FUNCTIONS, N_FUNCTIONS + 1 };
	const uint32_t direct[] = { i, N_FUNCTIONS + 1 };

	return ADD(b, .count = count, .frames = i % 2 ? row : direct, .n_user = i % 2 ? 3 : 2);
}

static struct profile *finish(struct profile_builder *b)
{
	static char names[N_FUNCTIONS + 2][8];
	struct frame frames[N_FUNCTIONS + 2] = {};
	const struct frame_table table = { .frames = frames, .n = ARRAY_SIZE(frames) };

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		frames[i] =
			(struct frame){ .kind = FRAME_USER, .name = names[i], .image = NO_IMAGE };
	}

	return finish_table(b, &table);
}

static const struct change *change_of(const struct changes *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->rows[i].frame->name, name) == 0)
			return &c->rows[i];
	fail_msg("no change of %s", name);
	return NULL;
}

/* Frees the profiles. */
static struct changes *compare(struct profile *after, struct profile *before, bool normalize)
{
	const struct profile *both[] = { after, before };
	const struct profile_sides sides = { .of = both, .n = 2, .n_after = 1 };
	struct changes *c = changes_new(&sides, normalize);

	profile_free(after);
	profile_free(before);
	return c;
}

/* --- noise --- */

/* f1 has @low and @high hits by turns, f2 has @other hits. */
struct series {
	uint32_t n;
	int64_t low, high, other;
};

static struct profile *run_of(const struct series *s, uint64_t slice_ns)
{
	struct profile_builder *b = profile_builder_new(1);

	for (uint32_t i = 0; i < s->n; i++) {
		const int64_t count = i % 2 ? s->high : s->low;

		profile_builder_slice(b, i * slice_ns, (i + 1) * slice_ns);
		profile_builder_part(b, put_stack(b, 1, count), i, count);
		profile_builder_part(b, put_stack(b, 2, s->other), i, s->other);
	}
	return finish(b);
}

/*
 * With 20 slices of 90 or 110 hits on both sides, the standard error of the change is
 * sqrt(2 * 20 / 19 * 20 * 10^2) = 64.9 hits.
 */
TEST(a_change_is_beyond_noise_from_three_standard_errors_on)
{
	static const struct {
		struct series after, before;
		bool normalize, has_claims, is_beyond;
	} rows[] = {
		{ { 20, 99, 119, 1000 }, { 20, 90, 110, 1000 }, false, true, false },
		{ { 20, 100, 120, 1000 }, { 20, 90, 110, 1000 }, false, true, true },
		{ { 20, 81, 101, 1000 }, { 20, 90, 110, 1000 }, false, true, false },
		{ { 20, 80, 100, 1000 }, { 20, 90, 110, 1000 }, false, true, true },
		/* Runs of other lengths have rates; with normalizing, other loads have shares. */
		{ { 40, 90, 110, 1000 }, { 20, 90, 110, 1000 }, false, true, false },
		{ { 20, 180, 220, 2000 }, { 20, 90, 110, 1000 }, true, true, false },
		{ { 20, 180, 220, 2000 }, { 20, 90, 110, 1000 }, false, true, true },
		{ { 20, 180, 220, 1000 }, { 20, 90, 110, 1000 }, true, true, true },
		/* Without any variance, each change is one, and none is none. */
		{ { 20, 101, 101, 7 }, { 30, 100, 100, 7 }, false, true, true },
		{ { 20, 100, 100, 7 }, { 30, 100, 100, 7 }, false, true, false },
		/* Too few slices, or no hits that there could be shares of. */
		{ { 19, 900, 900, 7 }, { 20, 1, 1, 7 }, false, false, false },
		{ { 20, 900, 900, 7 }, { 19, 1, 1, 7 }, false, false, false },
		{ { 20, 0, 0, 0 }, { 20, 1, 1, 7 }, true, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_changes struct changes *c =
			compare(run_of(&rows[i].after, 100), run_of(&rows[i].before, 100),
				rows[i].normalize);

		print_message("row %zu\n", i);
		assert_int_equal(c->n_after, rows[i].has_claims ? rows[i].after.n : 0);
		assert_int_equal(c->n_before, rows[i].has_claims ? rows[i].before.n : 0);
		assert_int_equal(change_of(c, "f1")->self.is_beyond_noise, rows[i].is_beyond);
		assert_int_equal(change_of(c, "f1")->total.is_beyond_noise, rows[i].is_beyond);
		assert_false(change_of(c, "f20")->self.is_beyond_noise);
	}
}

TEST(slices_without_time_have_no_rate)
{
	const struct series many = { 20, 900, 900, 7 }, few = { 20, 1, 1, 7 };
	struct changes *c = compare(run_of(&many, 0), run_of(&few, 100), false);

	assert_int_equal(c->n_after, 0);
	changes_free(c);
	c = compare(run_of(&many, 0), run_of(&few, 100), true);
	assert_int_equal(c->n_after, 20);
	assert_true(change_of(c, "f1")->self.is_beyond_noise);
	changes_free(c);
}

/* Two files of ten slices are as good as one of twenty, wherever the sides lie in time. */
TEST(slices_of_several_files_count_together)
{
	const struct series new = { 10, 190, 210, 7 }, old = { 10, 90, 110, 7 };
	struct profile *all[] = { run_of(&new, 100), run_of(&new, 100), run_of(&old, 100),
				  run_of(&old, 100) };
	const struct profile_sides sides = { (const struct profile *const *)all, 4, 2 };

	all[0]->about.begin_ns = 5000;
	all[1]->about.begin_ns = 1000;
	all[2]->about.begin_ns = 3000;
	all[3]->about.begin_ns = 9000;

	cleanup_changes struct changes *c = changes_new(&sides, false);

	assert_int_equal(c->n_after, 20);
	assert_int_equal(c->n_before, 20);
	assert_true(change_of(c, "f1")->self.is_beyond_noise);
	assert_false(change_of(c, "f2")->self.is_beyond_noise);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		profile_free(all[i]);
}

TEST(a_file_without_slices_is_a_slice)
{
	struct profile *all[40];
	const struct profile_sides sides = { (const struct profile *const *)all, 40, 20 };

	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile_builder *b = profile_builder_new(1);

		put_stack(b, 1, i < 20 ? 20 + i % 2 : 10 + i % 2);
		put_stack(b, 2, 100 + i % 3);
		all[i] = finish(b);
		all[i]->about.duration_ns = 1000;
	}

	cleanup_changes struct changes *c = changes_new(&sides, false);

	assert_int_equal(c->n_after, 20);
	assert_int_equal(c->n_before, 20);
	assert_true(change_of(c, "f1")->self.is_beyond_noise);
	assert_false(change_of(c, "f2")->self.is_beyond_noise);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		profile_free(all[i]);
}

/* --- rows --- */

static struct profile *two_counts(int64_t first, int64_t second)
{
	struct profile_builder *b = profile_builder_new(1);

	put_stack(b, 1, first);
	put_stack(b, 2, second);
	return finish(b);
}

static void expect_change(const struct changes *c, size_t row, const char *name,
			  const int64_t *numbers)
{
	const struct change *change = &c->rows[row];

	assert_string_equal(change->frame->name, name);
	assert_int_equal(change->self.before, numbers[0]);
	assert_int_equal(change->self.after, numbers[1]);
	assert_int_equal(change->total.before, numbers[2]);
	assert_int_equal(change->total.after, numbers[3]);
	assert_false(change->self.is_beyond_noise);
}

/* f20 is between main (f21) and f1. */
TEST(functions_have_self_and_total_largest_change_first)
{
	const int64_t f1[] = { 10, 15, 10, 15 }, f2[] = { 30, 10, 30, 10 };
	const int64_t f20[] = { 0, 0, 10, 15 }, f21[] = { 0, 0, 40, 25 };
	const int64_t f2_scaled[] = { 19, 10, 19, 10 };
	struct changes *c = compare(two_counts(15, 10), two_counts(10, 30), false);

	assert_int_equal(c->n, 4);
	assert_int_equal(c->n_after, 0);
	expect_change(c, 0, "f2", f2);
	expect_change(c, 1, "f1", f1);
	expect_change(c, 2, "f21", f21);
	expect_change(c, 3, "f20", f20);

	struct changes *again = changes_of_difference(c->of);

	expect_change(again, 0, "f2", f2);
	expect_change(again, 2, "f21", f21);
	assert_false(again->of->is_normalized);
	changes_free(again);
	changes_free(c);
	c = compare(two_counts(15, 10), two_counts(10, 30), true);
	expect_change(c, 1, "f2", f2_scaled);
	again = changes_of_difference(c->of);
	expect_change(again, 1, "f2", f2_scaled);
	assert_true(again->of->is_normalized);
	changes_free(again);
	changes_free(c);
}

/* A function that calls itself is in a stack once. A mark is no function, and hides none. */
TEST(recursion_counts_once_and_marks_do_not_count)
{
	struct frame frames[] = { { .kind = FRAME_USER, .name = "f" },
				  { .kind = FRAME_CUT, .name = "depth" } };
	const struct frame_table table = { .frames = frames, .n = 2 };
	const uint32_t row[] = { 1, 0, 0, 0, 1 };
	cleanup(profile_builder_freep) struct profile_builder *b = profile_builder_new(1);

	ADD(b, .count = 4, .frames = row, .n_user = 5);
	ADD(b, .count = 4);

	cleanup_profile struct profile *p = profile_builder_finish(b, &table);
	cleanup_changes struct changes *c = changes_of_difference(p);

	assert_int_equal(c->n, 1);
	assert_int_equal(c->rows[0].self.after, 4);
	assert_int_equal(c->rows[0].total.after, 4);
	assert_int_equal(c->rows[0].total.before, 0);
}

TEST_MAIN(NULL, NULL)
