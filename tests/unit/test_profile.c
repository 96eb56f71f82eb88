/* rooms: profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "base/hash.h"
#include "stacks.h"

static int make_builder(void **state)
{
	*state = profile_builder_new(1);
	return 0;
}

#define TEST_WITH_BUILDER(name) TEST_OF(name, struct profile_builder *b, make_builder, NULL)

static void add(struct profile_builder *b, uint64_t count, uint32_t pid, uint32_t n_kernel,
		uint32_t n_user, const uint32_t *frames)
{
	ADD(b, .count = (int64_t)count, .frames = frames, .n_kernel = n_kernel, .n_user = n_user,
	    .pid = pid);
}

/* Frame @i has the address @i. */
enum { TABLE_FRAMES = 100000 };

/* The profile, as profile_choose() leaves it. Frees @b, and what it was made from. */
static struct profile *finish(struct profile_builder *b, uint64_t min, size_t top)
{
	struct frame_table table = { .n = TABLE_FRAMES };
	struct profile *p;

	table.frames = calloc(TABLE_FRAMES, sizeof(*table.frames));
	for (size_t i = 0; i < TABLE_FRAMES; i++)
		table.frames[i].addr = i;
	p = profile_builder_finish(b, &table);
	free(table.frames);
	profile_builder_freep(&b);
	assert_null(b);
	profile_choose(p, min, top);
	return p;
}

static uint64_t frame_at(const struct profile *p, size_t stack, size_t i)
{
	return p->frames.frames[p->stacks[stack].frames[i]].addr;
}

static void expect_frames(const struct profile *p, size_t stack, const uint32_t *frames, size_t n)
{
	assert_int_equal(p->stacks[stack].n_kernel + p->stacks[stack].n_user, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(frame_at(p, stack, i), frames[i]);
}

TEST_WITH_BUILDER(entries_differ_by_pid_and_by_where_user_frames_begin)
{
	uint32_t frames[] = { 4, 9, 2 };

	add(b, 1, 0, 1, 2, frames);
	add(b, 1, 0, 2, 1, frames);
	add(b, 1, 5, 1, 2, frames);
	add(b, 1, 0, 1, 1, frames);
	add(b, 1, 0, 0, 0, frames);
	add(b, 1, 5, 0, 0, NULL);

	cleanup_profile struct profile *r = finish(b, 0, 0);

	assert_int_equal(r->n_stacks, 6);
}

TEST(with_and_without_pids_entries_differ_by_the_name_of_the_process)
{
	char copy[] = "sh";
	const char *const names[2][4] = { { "sh", "true", copy, NULL },
					  { "before", "after", "before", "" } };
	uint32_t frames[] = { 4, 9 };

	for (uint32_t pid = 0; pid < 2; pid++) {
		struct profile_builder *b = profile_builder_new(1);

		for (size_t i = 0; i < 4; i++)
			ADD(b, .count = 1, .frames = frames, .n_user = 2, .pid = pid,
			    .comm = names[pid][i]);

		cleanup_profile struct profile *r = finish(b, 0, 0);

		assert_int_equal(r->n_stacks, 3);
		assert_string_equal(r->stacks[2].comm, names[pid][0]);
		assert_int_equal(r->stacks[2].count, 2);
	}
}

TEST_WITH_BUILDER(the_name_of_a_process_is_kept_once_it_is_known)
{
	uint32_t frames[] = { 1 };
	struct profile_stack entry = { .count = 1, .frames = frames, .n_kernel = 1, .pid = 9 };

	profile_builder_add(b, &entry);
	entry.comm = "late";
	profile_builder_add(b, &entry);

	cleanup_profile struct profile *r = finish(b, 0, 0);

	assert_string_equal(r->stacks[0].comm, "late");
}

TEST_WITH_BUILDER(equal_counts_stay_in_the_order_in_which_they_were_added)
{
	for (uint32_t i = 0; i < 1000; i++)
		add(b, i % 3 + 1, 0, 1, 0, &i);

	cleanup(profile_freep) struct profile *r = finish(b, 0, 0);

	assert_int_equal(r->n_stacks, 1000);
	for (size_t i = 1; i < 1000; i++) {
		const struct profile_stack *before = &r->stacks[i - 1];
		const struct profile_stack *entry = &r->stacks[i];

		assert_true(before->count <= entry->count);
		if (before->count == entry->count)
			assert_true(frame_at(r, i - 1, 0) < frame_at(r, i, 0));
	}
}

/* Of ten stacks with 1 to 10 hits. */
TEST(min_and_top_leave_out_the_rare_and_say_how_much)
{
	static const struct {
		uint64_t min;
		size_t top, n_stacks;
		int64_t first, hidden;
		size_t n_hidden;
	} rows[] = { { 3, 4, 4, 7, 21, 6 }, { 9, 0, 2, 9, 36, 8 }, { 0, 1000, 10, 1, 0, 0 } };

	for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
		struct profile_builder *b = profile_builder_new(1);

		for (uint32_t i = 1; i <= 10; i++)
			add(b, i, 0, 1, 0, &i);

		cleanup_profile struct profile *r = finish(b, rows[k].min, rows[k].top);

		assert_int_equal(r->n_stacks, rows[k].n_stacks);
		assert_int_equal(r->stacks[0].count, rows[k].first);
		assert_int_equal(r->stacks[r->n_stacks - 1].count, 10);
		assert_int_equal(r->total, 55);
		assert_int_equal(r->hidden, rows[k].hidden);
		assert_int_equal(r->n_hidden, rows[k].n_hidden);
	}
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

TEST_WITH_BUILDER(two_hundred_thousand_random_entries_are_counted_exactly)
{
	enum { N = 200000, ROWS = 70000 };
	cleanup_free uint64_t *expected = calloc(ROWS, sizeof(*expected));
	uint64_t total = 0, seen = 0;
	uint32_t frames[32];

	for (uint64_t i = 0; i < N; i++) {
		uint32_t row = hash_mix(i + 1) % ROWS;
		uint64_t count = hash_mix(i * 3 + 1) % 100;
		uint32_t n = make_row(row, frames);

		add(b, count, 0, n / 2, n - n / 2, frames);
		expected[row] += count;
		total += count;
	}

	cleanup(profile_freep) struct profile *r = finish(b, 0, 0);

	assert_int_equal(r->total, total);
	for (size_t i = 0; i < r->n_stacks; i++) {
		const struct profile_stack *entry = &r->stacks[i];
		uint32_t row = (uint32_t)frame_at(r, i, 0);
		uint32_t n = make_row(row, frames);

		expect_frames(r, i, frames, n);
		assert_int_equal(entry->count, expected[row]);
		seen += entry->count;
		expected[row] = 0; /* a second one of the row would be found */
	}
	assert_int_equal(seen, total);
}

/* Nothing is borrowed from the table, or from the caller. */
TEST_WITH_BUILDER(a_profile_owns_its_texts)
{
	char name[] = "read", module[] = "libc.so.6", file[] = "read.c", comm[] = "tar";
	struct frame frame = { .name = name, .module = module, .file = file, .line = 7 };
	const struct frame_table table = { .frames = &frame, .n = 1 };
	const uint32_t number = 0;
	struct profile *p;

	ADD(b, .count = 1, .frames = &number, .n_user = 1, .pid = 5, .comm = comm);
	p = profile_builder_finish(b, &table);
	profile_builder_freep(&b);
	name[0] = module[0] = file[0] = comm[0] = 'X';
	frame.line = 8;
	assert_string_equal(p->frames.frames[0].name, "read");
	assert_string_equal(p->frames.frames[0].module, "libc.so.6");
	assert_string_equal(p->frames.frames[0].file, "read.c");
	assert_int_equal(p->frames.frames[0].line, 7);
	assert_string_equal(p->stacks[0].comm, "tar");
	profile_free(p);
}

TEST_WITH_BUILDER(parts_follow_their_stacks)
{
	uint32_t frames[] = { 4, 9 };
	struct profile_stack stack = { .count = 9, .frames = frames, .n_user = 2 };

	const uint32_t often = profile_builder_add(b, &stack);

	stack = (struct profile_stack){ .count = 1, .frames = frames, .n_user = 1 };

	const uint32_t once = profile_builder_add(b, &stack);

	assert_int_equal(profile_builder_slice(b, 0, 10), 0);
	assert_int_equal(profile_builder_slice(b, 10, 20), 1);
	profile_builder_part(b, once, 1, 1);
	profile_builder_part(b, often, 1, 4);
	profile_builder_part(b, often, 0, 3);
	profile_builder_part(b, often, 1, 2);

	cleanup_profile struct profile *p = finish(b, 0, 0);

	/* The stack with one hit is first now. */
	assert_int_equal(p->n_slices, 2);
	assert_int_equal(p->n_parts, 3);
	assert_int_equal(p->parts[0].stack, 0);
	assert_int_equal(p->parts[0].slice, 1);
	assert_int_equal(p->parts[1].stack, 1);
	assert_int_equal(p->parts[1].slice, 0);
	assert_int_equal(p->parts[2].count, 6);
	profile_choose(p, 2, 0);
	assert_int_equal(p->n_parts, 2);
	assert_int_equal(p->parts[0].stack, 0);
	assert_int_equal(p->parts[1].count, 6);
}

TEST_MAIN(NULL, NULL)
