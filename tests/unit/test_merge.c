/* rooms: profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "profile/merge.h"
#include "stacks.h"

enum { N_VALUES = 2 };

/* clang-format off */
static struct frame_image images[] = {
	{ .path = "/usr/lib/libc.so.6", .build_id = "ab12", .start = 0x7f0000001000, .limit = 0x7f0000100000,
	  .offset = 0x1000 },
	{ .path = "/run/box/lib/libc.so.6", .build_id = "ab12", .start = 0x7e0000003000,
	  .limit = 0x7e0000100000, .offset = 0x3000 },
	{ .path = "/usr/lib/libc.so.6", .build_id = "cd34" },
};
/* clang-format on */

/* The first four are one function at two offsets and two lines, in two mappings. */
/* clang-format off */
static struct frame frames[] = {
	{ .kind = FRAME_USER, .name = "read", .module = "libc.so.6", .image = 0, .offset = 4,
	  .addr = 0x7f0000001004, .file_offset = 0x1004, .file = "read.c", .line = 7 },
	{ .kind = FRAME_USER, .name = "read", .module = "libc.so.6", .image = 0, .offset = 8,
	  .addr = 0x7f0000001008, .file_offset = 0x1008, .file = "read.c", .line = 7 },
	{ .kind = FRAME_USER, .name = "read", .module = "libc.so.6", .image = 0, .offset = 8,
	  .addr = 0x7f0000001008, .file_offset = 0x1008, .file = "read.c", .line = 9 },
	{ .kind = FRAME_USER, .name = "read", .module = "libc.so.6", .image = 1, .offset = 8,
	  .addr = 0x7e0000001008, .file_offset = 0x1008, .file = "read.c", .line = 9 },
	{ .kind = FRAME_USER, .name = "read", .module = "libc.so.6", .image = 2, .offset = 8 },
	{ .kind = FRAME_KERNEL, .name = "read", .image = NO_IMAGE },
	{ .kind = FRAME_USER, .module = "libc.so.6", .image = 0, .is_in_file = true, .has_start = true,
	  .offset = 3, .module_offset = 0x2003 },
	{ .kind = FRAME_USER, .module = "libc.so.6", .image = 0, .is_in_file = true, .has_start = true,
	  .offset = 9, .module_offset = 0x2009 },
	{ .kind = FRAME_USER, .module = "libc.so.6", .image = 0, .is_in_file = true, .has_start = true,
	  .offset = 9, .module_offset = 0x3009 },
	{ .kind = FRAME_CUT, .name = "depth", .image = NO_IMAGE },
	{ .kind = FRAME_UNVERIFIED, .name = "depth", .image = NO_IMAGE },
};
/* clang-format on */

static const struct frame_table table = {
	.frames = frames, .n = ARRAY_SIZE(frames), .images = images, .n_images = ARRAY_SIZE(images)
};

/* Each frame alone in a stack, whose count is a power of two. */
static struct profile *one_stack_for_each_frame(void)
{
	struct profile_builder *b = profile_builder_new(1);

	for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++) {
		ADD(b, .count = 1 << i, .frames = &i, .n_user = 1);
	}

	return finish_table(b, &table);
}

static void expect_counts(unsigned keep, const int64_t *counts, size_t n)
{
	cleanup_profile struct profile *from = one_stack_for_each_frame();
	const struct profile *list[] = { from };
	cleanup_profile struct profile *p = profile_merge(list, 1, keep);

	assert_int_equal(p->n_stacks, n);
	assert_int_equal(p->frames.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(p->stacks[i].count, counts[i]);
	assert_int_equal(p->total, from->total);
}

TEST(frames_are_equal_by_the_properties_that_are_kept)
{
	const int64_t functions[] = { 1 + 2 + 4 + 8, 16, 32, 64 + 128, 256, 512, 1024 };
	const int64_t lines[] = { 1 + 2, 4 + 8, 16, 32, 64 + 128, 256, 512, 1024 };
	const int64_t offsets[] = { 1, 2 + 4 + 8, 16, 32, 64, 128, 256, 512, 1024 };
	const int64_t addresses[] = { 1, 2 + 4, 8, 16, 32, 64, 128, 256, 512, 1024 };
	const int64_t all[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 };

	expect_counts(0, functions, ARRAY_SIZE(functions));
	expect_counts(KEEP_LINES, lines, ARRAY_SIZE(lines));
	expect_counts(KEEP_OFFSETS, offsets, ARRAY_SIZE(offsets));
	expect_counts(KEEP_ADDRESSES, addresses, ARRAY_SIZE(addresses));
	expect_counts(KEEP_ALL, all, ARRAY_SIZE(all));
}

/* A frame whose image became another one's has its address in that one's mapping. */
TEST(addresses_belong_to_the_mapping_of_their_image)
{
	struct profile_builder *one = profile_builder_new(1), *two = profile_builder_new(1);
	const uint32_t first = 6, second = 3;

	ADD(one, .count = 1, .frames = &first, .n_user = 1);
	ADD(two, .count = 1, .frames = &second, .n_user = 1);

	struct profile *ps[] = { profile_builder_finish(one, &table),
				 profile_builder_finish(two, &table) };
	struct profile *p = profile_merge((const struct profile *const *)ps, 2, 0);

	assert_int_equal(p->frames.n, 2);
	assert_int_equal(p->frames.n_images, 1);
	assert_int_equal(p->frames.images[0].start, 0x7f0000001000);
	assert_int_equal(p->frames.frames[1].addr, 0x7f0000001008);
	profile_free(p);
	p = profile_merge((const struct profile *const *)ps, 2, KEEP_ADDRESSES);
	assert_int_equal(p->frames.n_images, 2);
	assert_int_equal(p->frames.frames[1].addr, 0x7e0000001008);
	profile_free(p);
	profile_free(ps[0]);
	profile_free(ps[1]);
	profile_builder_freep(&one);
	profile_builder_freep(&two);
}

/* Eight processes of two names, in two slices by turns: eight stacks of one frame. */
static struct profile *eight_stacks(uint64_t begin_ns, int64_t unit)
{
	struct profile_builder *b = profile_builder_new(N_VALUES);
	const uint32_t frame = 0;

	for (uint32_t s = 0; s < 2; s++)
		profile_builder_slice(b, (uint64_t)s * 100, (uint64_t)s * 100 + 100);
	for (uint32_t pid = 1; pid <= 8; pid++) {
		const int64_t more = 10 * unit;
		const uint32_t number =
			ADD(b, .count = unit, .more = &more, .frames = &frame, .n_user = 1,
			    .pid = pid, .comm = pid <= 4 ? "tar" : "sh");

		profile_builder_part(b, number, (pid - 1) % 2, unit);
	}

	struct profile *p = finish_table(b, &table);

	p->values[1] = (struct profile_value){ "time", "nanoseconds" };
	p->about = (struct profile_about){ .program = "stackcount 1",
					   .command_line = unit == 1 ? "a" : "b",
					   .begin_ns = begin_ns,
					   .duration_ns = 200,
					   .cost_ns = 100.0 * (double)unit };
	profile_add_loss(p, unit == 1 ? "one" : "other", 3);
	profile_add_loss(p, "both", (uint64_t)unit);
	return p;
}

TEST(stacks_are_equal_by_the_properties_that_are_kept)
{
	static const struct {
		unsigned keep;
		size_t n_stacks;
	} rows[] = {
		{ 0, 1 },
		{ KEEP_COMMS, 2 },
		{ KEEP_PIDS, 8 },
		{ KEEP_PIDS | KEEP_COMMS, 8 },
	};
	cleanup_profile struct profile *from = eight_stacks(1000, 1);
	const struct profile *list[] = { from };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(profile_freep) struct profile *p = profile_merge(list, 1, rows[i].keep);

		assert_int_equal(p->n_stacks, rows[i].n_stacks);
		assert_int_equal(p->total, 8);
		assert_int_equal(p->stacks[0].count, 8 / rows[i].n_stacks);
		assert_int_equal(p->stacks[0].more[0], 80 / rows[i].n_stacks);
		assert_int_equal(p->n_slices, 0);
		assert_int_equal(p->n_parts, 0);
		assert_int_equal(!!p->stacks[0].comm, !!(rows[i].keep & KEEP_COMMS));
		assert_int_equal(p->stacks[0].pid, rows[i].keep & KEEP_PIDS ? 1 : 0);
	}
}

TEST(profiles_are_added_up)
{
	/* The second one began first. */
	struct profile *ps[] = { eight_stacks(1050, 1), eight_stacks(1000, 2), eight_stacks(0, 2) };
	struct profile *p;

	profile_choose(ps[1], 0, 2); /* hides 6 stacks, of 2 hits each */
	p = profile_merge((const struct profile *const *)ps, 2, KEEP_ALL);
	assert_int_equal(p->total, 8 + 16);
	assert_int_equal(p->hidden, 12);
	assert_int_equal(p->n_hidden, 6);
	assert_string_equal(p->values[1].unit, "nanoseconds");
	assert_string_equal(p->about.program, "stackcount 1");
	assert_string_equal(p->about.command_line, "a, ...");
	assert_null(p->about.host);
	assert_int_equal(p->about.begin_ns, 1000);
	assert_int_equal(p->about.duration_ns, 400);
	assert_true(p->about.cost_ns == 0);
	assert_int_equal(p->n_losses, 3);
	assert_string_equal(p->losses[1].reason, "both");
	assert_int_equal(p->losses[1].n, 3);
	assert_int_equal(p->n_slices, 0);
	assert_int_equal(p->n_parts, 0);
	profile_free(p);
	p = profile_merge((const struct profile *const *)ps, 3, 0);
	assert_string_equal(p->about.command_line, "a, ...");
	assert_int_equal(p->about.begin_ns, 1000);
	profile_free(p);
	for (size_t i = 0; i < ARRAY_SIZE(ps); i++)
		profile_free(ps[i]);
}

static void expect_period(struct profile *const *from, size_t n, const char *name, int64_t period)
{
	cleanup_profile struct profile *p =
		profile_merge((const struct profile *const *)from, n, KEEP_ALL);

	assert_int_equal(p->about.period, period);
	if (name)
		assert_string_equal(p->about.period_type.name, name);
	else
		assert_null(p->about.period_type.name);
}

/* "go tool pprof" takes the longest one. It does not merge periods of different types at all. */
TEST(the_longest_period_stays_if_all_are_of_one_type)
{
	struct profile *ps[] = { eight_stacks(0, 1), eight_stacks(0, 1), eight_stacks(0, 1),
				 eight_stacks(0, 1) };

	ps[1]->about.period_type = (struct profile_value){ "cpu", "nanoseconds" };
	ps[1]->about.period = 10000000;
	ps[2]->about.period_type = (struct profile_value){ "cpu", "nanoseconds" };
	ps[2]->about.period = 20000000;
	ps[3]->about.period_type = (struct profile_value){ "event", "count" };
	ps[3]->about.period = 1;
	expect_period(ps, 2, NULL, 0);
	expect_period(ps + 1, 1, "cpu", 10000000);
	expect_period(ps + 1, 2, "cpu", 20000000);
	expect_period(ps + 1, 3, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(ps); i++)
		profile_free(ps[i]);
}

TEST(values_are_paired_by_name_and_unit)
{
	struct profile *ps[] = { eight_stacks(1, 1), eight_stacks(1, 1) };
	struct profile *p;

	ps[1]->values[0] = (struct profile_value){ "time", "nanoseconds" };
	ps[1]->values[1] = (struct profile_value){ "size", "bytes" };
	p = profile_merge((const struct profile *const *)ps, 2, 0);
	assert_int_equal(p->n_values, 2); /* the first one has no "size" */
	assert_int_equal(p->n_stacks, 1);
	assert_int_equal(p->stacks[0].count, 8);
	assert_int_equal(p->stacks[0].more[0], 80 + 8);
	profile_free(p);
	profile_free(ps[0]);
	profile_free(ps[1]);
}

TEST(both_sides_of_a_difference_are_added_up)
{
	const int64_t more = 3, more_before = 4;
	const uint32_t frame = 0;
	cleanup(profile_builder_freep) struct profile_builder *b = profile_builder_new(2);

	ADD(b, .count = 1, .count_before = 2, .more = &more, .more_before = &more_before,
	    .frames = &frame, .n_user = 1);

	cleanup_profile struct profile *from = profile_builder_finish(b, &table);

	from->values[1] = (struct profile_value){ "time", "nanoseconds" };

	const struct profile *list[] = { from, from };
	cleanup_profile struct profile *p = profile_merge(list, 2, 0);

	assert_true(p->is_difference);
	assert_int_equal(p->stacks[0].count, 2);
	assert_int_equal(p->stacks[0].count_before, 4);
	assert_int_equal(p->stacks[0].more[0], 6);
	assert_int_equal(p->stacks[0].more_before[0], 8);
}

TEST_MAIN(NULL, NULL)
