/* rooms: kernel processes reader helper unwind elf arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The regions that a space had: every answer is that of a search through all of them. */
#include "test.h"

#include "processes/past.h"
#include "unit/work.h"

#define MANY 3000U
#define PLACES 7U /* where regions begin */

static uint64_t chosen = 1;

static uint64_t choose(uint64_t below)
{
	chosen = chosen * 6364136223846793005ULL + 1442695040888963407ULL;
	return (chosen >> 33) % below;
}

/* The same regions in a plain list, by rising end. */
struct plain {
	struct region list[MANY];
	size_t n;
};

static void add_plain(struct plain *to, const struct region *region)
{
	size_t at = to->n++;

	for (; at && to->list[at - 1].until > region->until; at--)
		to->list[at] = to->list[at - 1];
	to->list[at] = *region;
}

static const struct region *plain_at(const struct plain *p, uint64_t addr, uint64_t time)
{
	for (size_t i = 0; i < p->n; i++)
		if (addr >= p->list[i].start && addr < p->list[i].end && p->list[i].from <= time &&
		    time < p->list[i].until)
			return &p->list[i];
	return NULL;
}

static size_t plain_count(const struct plain *p, uint64_t time)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->list[i].until <= time;
	return n;
}

/* One after the other; some records come late, and some regions are old or overlap others. */
static struct region next_region(uint64_t number)
{
	const uint64_t place = choose(PLACES), end = 10 * number + 10;
	struct region r = { .start = 0x1000 * (10 * place + choose(3)),
			    .offset = number,
			    .from = end - choose(choose(10) ? 30 : end),
			    .until = choose(20) ? end : end - choose(9) };

	r.end = r.start + 0x1000 * (1 + choose(5));
	return r;
}

static void assert_same_answers(const struct past *past, const struct plain *plain, uint64_t until)
{
	for (int i = 0; i < 20000; i++) {
		const uint64_t addr = choose(0x1000 * 10 * (PLACES + 1)), time = choose(until);
		const struct region *found = past_at(past, addr, time),
				    *right = plain_at(plain, addr, time);

		assert_true(!found == !right);
		if (found)
			assert_int_equal(found->offset, right->offset);
		assert_int_equal(past_count(past, time), plain_count(plain, time));
	}
}

TEST(answers_as_a_search_through_all_regions_would)
{
	static struct plain plain;
	struct spaces all = {};
	struct past past = {}, copy = {};

	for (uint64_t i = 0; i < MANY; i++) {
		const struct region r = next_region(i);

		past_add(&all, &past, &r);
		add_plain(&plain, &r);
		if (i == 31 || i == 32 || i == 1023 || i == 1025)
			assert_same_answers(&past, &plain, 10 * i + 50);
	}
	assert_same_answers(&past, &plain, 10 * MANY + 50);
	past_copy(&all, &copy, &past);
	assert_same_answers(&copy, &plain, 10 * MANY + 50);
	past_forget(&all, &past, MANY / 3);
	plain.n -= MANY / 3;
	memmove(plain.list, plain.list + MANY / 3, plain.n * sizeof(plain.list[0]));
	assert_same_answers(&past, &plain, 10 * MANY + 50);
	past_fini(&all, &past);
	past_fini(&all, &copy);
	assert_int_equal(all.bytes, 0);
}

TEST(regions_whose_begin_is_not_known_can_be_forgotten)
{
	static struct plain plain;
	struct spaces all = {};
	struct past past = {};

	for (uint64_t i = 0; i < MANY; i++) {
		struct region r = next_region(i);

		if (i % 3 == 0)
			r.from = 0;
		past_add(&all, &past, &r);
		if (r.from)
			add_plain(&plain, &r);
	}
	past_forget_first(&all, &past);
	assert_same_answers(&past, &plain, 10 * MANY + 50);
	past_fini(&all, &past);
}

/* The work of 10,000 searches among @n regions that were at one place, one after the other. */
static uint64_t search(uint64_t n)
{
	struct spaces all = {};
	struct past past = {};
	uint64_t least = UINT64_MAX;

	for (uint64_t i = 0; i < n; i++)
		past_add(&all, &past,
			 &(struct region){ .start = 0x10000,
					   .end = 0x20000,
					   .offset = i,
					   .from = 10 * i,
					   .until = 10 * i + 10 });
	for (unsigned times = 0; times < WORK_TIMES; times++) {
		const uint64_t begin = work_begin();

		for (uint64_t i = 0; i < 10000; i++) {
			const uint64_t at = i * 7919 % n;

			assert_null(past_at(&past, 0x30000, 10 * at));
			assert_int_equal(past_at(&past, 0x10000, 10 * at)->offset, at);
			assert_int_equal(past_count(&past, 10 * at), at);
		}
		least = work_least(begin, least);
	}
	past_fini(&all, &past);
	return least;
}

/* A program loads one file after the other; most frames are of files that stay. */
TEST(many_past_regions_at_one_place_cost_other_addresses_nothing)
{
	const uint64_t few = search(1000);

	/* Through all of them one by one it takes 100 times as long. */
	assert_in_range(search(100000), 0, 20 * few);
}

TEST_MAIN(NULL, NULL)
