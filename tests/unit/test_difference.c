/* rooms: profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/saturated.h"
#include "stacks.h"

/* Functions "a" to "d" of two builds of one program; "b" moved, and "d" lost its name. */
static struct frame_image old_image = { .path = "/bin/prog", .build_id = "01" };
static struct frame_image new_image = { .path = "/opt/bin/prog", .build_id = "02" };
static struct frame old_frames[] = {
	{ .kind = FRAME_USER, .module = "prog", .name = "a", .addr = 1, .offset = 1 },
	{ .kind = FRAME_USER, .module = "prog", .name = "b", .addr = 2, .file = "b.c", .line = 1 },
	{ .kind = FRAME_KERNEL, .name = "c", .image = NO_IMAGE },
	{ .kind = FRAME_USER, .module = "prog", .is_in_file = true, .has_start = true },
	{ .kind = FRAME_USER, .module = "lib.so", .name = "a" },
};
static struct frame new_frames[] = {
	{ .kind = FRAME_USER, .module = "prog", .name = "a", .addr = 9, .is_inlined = true },
	{ .kind = FRAME_USER, .module = "prog", .name = "b", .addr = 3, .file = "b.c", .line = 5 },
	{ .kind = FRAME_KERNEL, .name = "c", .image = NO_IMAGE },
	{ .kind = FRAME_USER, .module = "prog", .is_in_file = true, .has_start = true },
	{ .kind = FRAME_USER, .module = "prog", .name = "c" },
};
static const struct frame_table old_table = {
	.frames = old_frames, .n = ARRAY_SIZE(old_frames), .images = &old_image, .n_images = 1
};
static const struct frame_table new_table = {
	.frames = new_frames, .n = ARRAY_SIZE(new_frames), .images = &new_image, .n_images = 1
};

/* A profile with one stack for each of the @n @counts: frame 0, and frame i above it. */
static struct profile *counts_of(const int64_t *counts, size_t n, const struct frame_table *table)
{
	struct profile_builder *b = profile_builder_new(1);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t row[] = { i, 0 };

		if (counts[i])
			ADD(b, .count = counts[i], .frames = row, .n_user = 2);
	}
	return finish_table(b, table);
}

static const struct profile_stack *stack_of(const struct profile *p, const char *name,
					    const char *module)
{
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct frame *frame = &p->frames.frames[p->stacks[i].frames[0]];

		if (strcmp(frame->name ? frame->name : "", name) == 0 &&
		    strcmp(frame->module ? frame->module : "", module) == 0)
			return &p->stacks[i];
	}
	fail_msg("no stack of %s in %s", name, module);
	return NULL;
}

static void expect_stack(const struct profile *p, const char *name, const char *module,
			 int64_t before, int64_t after)
{
	const struct profile_stack *stack = stack_of(p, name, module);

	assert_int_equal(stack->count_before, before);
	assert_int_equal(stack->count, after);
}

TEST(stacks_are_paired_by_names)
{
	const int64_t old_counts[] = { 1, 2, 3, 4, 5 }, new_counts[] = { 10, 20, 30, 40, 50 };
	cleanup_profile struct profile *before = counts_of(old_counts, 5, &old_table);
	cleanup_profile struct profile *after = counts_of(new_counts, 5, &new_table);

	before->about = (struct profile_about){
		.command_line = "old", .kernel = "6.1", .begin_ns = 1000, .duration_ns = 70
	};
	after->about = (struct profile_about){ .command_line = "new", .begin_ns = 9000 };

	cleanup_profile struct profile *p = difference_of(after, before, false);

	assert_true(p->is_difference);
	assert_false(p->is_normalized);
	assert_string_equal(p->about.command_line, "new");
	assert_int_equal(p->about.begin_ns, 9000);
	assert_string_equal(p->about_before.command_line, "old");
	assert_string_equal(p->about_before.kernel, "6.1");
	assert_int_equal(p->about_before.begin_ns, 1000);
	assert_int_equal(p->about_before.duration_ns, 70);
	assert_int_equal(p->total, 150);
	assert_int_equal(p->total_before, 15);
	assert_int_equal(p->n_stacks, 7);
	expect_stack(p, "a", "prog", 1, 10);
	expect_stack(p, "b", "prog", 2, 20);
	expect_stack(p, "c", "", 3, 30);
	expect_stack(p, "a", "lib.so", 5, 0);
	expect_stack(p, "c", "prog", 0, 50);
	assert_null(p->frames.frames[stack_of(p, "b", "prog")->frames[0]].file);
	assert_false(p->frames.frames[stack_of(p, "a", "prog")->frames[0]].is_inlined);
}

/* Code without a name at one place in two builds is no function that both have. */
TEST(code_without_a_name_is_paired_within_a_build_only)
{
	const int64_t counts[] = { 0, 0, 0, 4 };
	cleanup_profile struct profile *before = counts_of(counts, 4, &old_table);
	cleanup_profile struct profile *after = counts_of(counts, 4, &new_table);
	struct profile *p = difference_of(after, before, false);

	assert_int_equal(p->n_stacks, 2);
	profile_free(p);
	p = difference_of(before, before, false);
	assert_int_equal(p->n_stacks, 1);
	assert_int_equal(p->stacks[0].count, 4);
	assert_int_equal(p->stacks[0].count_before, 4);
	profile_free(p);
}

TEST(sums_are_equal_after_normalizing)
{
	const int64_t old_counts[] = { 1, 1, 1, 1 }, new_counts[] = { 7, 0, 1, 2 };
	const int64_t none[] = { 0 };
	cleanup_profile struct profile *before = counts_of(old_counts, 4, &old_table);
	cleanup_profile struct profile *after = counts_of(new_counts, 4, &new_table);
	cleanup_profile struct profile *empty = counts_of(none, 1, &old_table);
	int64_t sum = 0;

	profile_choose(before, 0, 3); /* hides one */

	struct profile *p = difference_of(after, before, true);

	for (size_t i = 0; i < p->n_stacks; i++) {
		assert_true(p->stacks[i].count_before >= 0 && p->stacks[i].count_before <= 3);
		sum += p->stacks[i].count_before;
	}
	assert_int_equal(p->total_before, 10);
	assert_int_equal(p->total, 10);
	assert_true(p->hidden_before == 2 || p->hidden_before == 3);
	assert_int_equal(sum + p->hidden_before, 10);
	profile_free(p);
	p = difference_of(after, empty, true);
	assert_int_equal(p->total_before, 0);
	assert_int_equal(p->total, 10);
	profile_free(p);
	p = difference_of(empty, after, true);
	assert_int_equal(p->total_before, 10);
	assert_int_equal(p->n_stacks, 3);
	profile_free(p);
}

/* Sums of what files hold may have no room in a number. */
TEST(huge_counts_are_saturated)
{
	const int64_t counts[] = { INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN, 5 };
	const int64_t few[] = { 1, 2, 3 };
	cleanup_profile struct profile *before = counts_of(counts, 5, &old_table);
	cleanup_profile struct profile *after = counts_of(counts, 5, &new_table);
	cleanup_profile struct profile *small = counts_of(few, 3, &new_table);

	for (int normalize = 0; normalize < 2; normalize++) {
		struct profile *p = difference_of(after, before, normalize);

		profile_choose(p, 0, 2);
		profile_free(p);
		p = difference_of(small, before, normalize);
		profile_choose(p, 0, 2);
		profile_free(p);
	}
	assert_int_equal(add_saturated(INT64_MAX, 1), INT64_MAX);
	assert_int_equal(add_saturated(INT64_MIN, -1), INT64_MIN);
	assert_int_equal(subtract_saturated(INT64_MIN, 1), INT64_MIN);
	assert_int_equal(subtract_saturated(INT64_MAX, -1), INT64_MAX);
}

/* Two stacks that differ in their pids. */
static struct profile *two_processes(uint32_t pid, const char *comm)
{
	struct profile_builder *b = profile_builder_new(2);
	const uint32_t frame = 0;

	for (uint32_t i = 0; i < 2; i++) {
		const int64_t more = 100;

		ADD(b, .count = 1, .more = &more, .frames = &frame, .n_user = 1, .pid = pid + i,
		    .comm = comm);
	}

	struct profile *p = finish_table(b, &old_table);

	p->values[1] = (struct profile_value){ "time", "nanoseconds" };
	profile_add_loss(p, "no room", pid);
	p->about.command_line = comm ? "with" : "without";
	return p;
}

TEST(processes_are_paired_by_name)
{
	cleanup_profile struct profile *after = two_processes(10, "tar");
	cleanup_profile struct profile *before = two_processes(20, "tar");
	cleanup_profile struct profile *nameless = two_processes(30, NULL);
	struct profile *p = difference_of(after, before, false);

	assert_int_equal(p->n_stacks, 1);
	assert_int_equal(p->stacks[0].pid, 0);
	assert_string_equal(p->stacks[0].comm, "tar");
	assert_int_equal(p->stacks[0].more[0], 200);
	assert_int_equal(p->stacks[0].more_before[0], 200);
	assert_string_equal(p->values[1].name, "time");
	assert_string_equal(p->about.command_line, "with");
	assert_int_equal(p->n_losses, 2);
	assert_string_equal(p->losses[0].reason, "no room");
	assert_int_equal(p->losses[0].n, 10);
	assert_string_equal(p->losses[1].reason, "before the change: no room");
	assert_int_equal(p->losses[1].n, 20);
	profile_free(p);
	p = difference_of(nameless, before, false);
	assert_int_equal(p->n_stacks, 1);
	assert_null(p->stacks[0].comm);
	profile_free(p);
}

/* What was before the change of a difference is neither of this side nor of the other. */
TEST(the_largest_changes_are_last_hidden_ones_are_counted_and_earlier_ones_are_not)
{
	const int64_t old_counts[] = { 100, 20, 30 }, new_counts[] = { 101, 2, 45 };
	cleanup_profile struct profile *before = counts_of(old_counts, 3, &old_table);
	cleanup_profile struct profile *after = counts_of(new_counts, 3, &new_table);
	cleanup_profile struct profile *p = difference_of(after, before, false);

	profile_choose(p, 0, 2);
	assert_int_equal(p->n_stacks, 2);
	assert_int_equal(p->stacks[0].count, 45);
	assert_int_equal(p->stacks[1].count, 2);
	assert_int_equal(p->hidden, 101);
	assert_int_equal(p->hidden_before, 100);
	assert_int_equal(p->total_before, 150);

	cleanup_profile struct profile *again = difference_of(p, before, false);

	assert_int_equal(again->total, 148);
	assert_int_equal(again->hidden, 101);
	assert_int_equal(again->total_before, 150);
	assert_int_equal(again->hidden_before, 0);
	expect_stack(again, "b", "prog", 20, 2);
}

TEST_MAIN(NULL, NULL)
