/* rooms: base store; over object */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The store over real maps, with no program: the tests put in what one would have counted. */
#include "test.h"

#include "base/clock.h"
#include "object.h"
#include "store/counters.h"
#include "store/store.h"

#define N_HOT 4
#define FIRST 8 /* entries in the first level of each map */

/* --- a store to test --- */

#define AMPLE .max_rows = 1024, .n_hot_rows = N_HOT, .max_chunks = 4096, .user_bytes = 1 << 24
#pragma GCC diagnostic ignored "-Woverride-init" /* of a number in AMPLE */

static const struct store_budget ample = { AMPLE };

static struct object o;
static struct store *s;

static int make_object(void **state)
{
	static uint64_t hot[2 * 2 * N_CPUS * N_HOT]; /* twice: with sums */

	memset(hot, 0, sizeof(hot));
	o = (struct object){ .maps.hot = hot, .recursion_misses = 7 };
	for (unsigned level = 0; level < LEVELS; level++) {
		uint32_t n = level ? 4096 : FIRST;

		for (unsigned g = 0; g < 2; g++)
			o.counts[g][level] = make_map(BPF_MAP_TYPE_HASH, sizeof(struct stack_key),
						      sizeof(struct stack_row), n);
		o.stacks[level] = make_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t),
					   sizeof(struct stack_chunk), n);
	}
	o.stacks[SPARE_LEVEL] = make_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t),
					 sizeof(struct stack_chunk), SPARE_CHUNKS);
	o.maps.lost_fd = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, LOST_IN_KERNEL);
	o.maps.begun_fd =
		make_map(BPF_MAP_TYPE_HASH, sizeof(struct begun_key), sizeof(struct beginning), 8);
	return 0;
}

static int close_object(void **state)
{
	store_free(s);
	s = NULL;
	for (unsigned level = 0; level < LEVELS; level++) {
		cleanup_close_fd(&o.counts[0][level]);
		cleanup_close_fd(&o.counts[1][level]);
		cleanup_close_fd(&o.stacks[level]);
	}
	cleanup_close_fd(&o.stacks[SPARE_LEVEL]);
	cleanup_close_fd(&o.maps.lost_fd);
	cleanup_close_fd(&o.maps.begun_fd);
	return 0;
}

#define TEST_WITH_OBJECT(name) TEST_WITH(name, make_object, close_object)

static void start(const struct store_budget *budget)
{
	s = store_new(&o, budget, N_CPUS);
	store_start(s);
}

/* An element in the first level, or, where that is full, the second. */
static void put(const int fds[LEVELS], const void *key, const void *value)
{
	if (bpf_map_update_elem(fds[0], key, value, BPF_ANY) != 0)
		assert_int_equal(bpf_map_update_elem(fds[1], key, value, BPF_ANY), 0);
}

/* A stack of @n words that only @hash decides; returns the hash. */
static uint64_t put_stack(uint64_t hash, size_t n)
{
	uint64_t words[STACK_WORDS + CHUNK_WORDS] = {};

	hash = STACK_HASH(hash << 8);
	for (size_t i = 0; i < n; i++)
		words[i] = 0x1000 * (i + 1) + hash;
	for (uint64_t i = 0; i * CHUNK_WORDS <= n; i++) {
		const uint64_t key = hash | i;

		put(o.stacks, &key, &words[i * CHUNK_WORDS]);
		o.state.n_chunks++;
	}
	return hash;
}

static void put_row(uint64_t kernel, uint64_t user, uint64_t count, uint32_t hot)
{
	const unsigned g = o.state.turn % 2;
	const struct stack_key key = { .kernel_stack = kernel, .user_stack = user, .tgid = 9 };
	const struct stack_row row = { .count = count, .hot = (uint16_t)hot };

	put(o.counts[g], &key, &row);
	o.state.n_rows[g]++;
	if (hot > o.state.n_hot[g])
		o.state.n_hot[g] = hot;
}

static bool has_chunk(uint64_t key)
{
	uint64_t words[CHUNK_WORDS];

	return bpf_map_lookup_elem(o.stacks[0], &key, words) == 0 ||
	       bpf_map_lookup_elem(o.stacks[1], &key, words) == 0;
}

static void rotate(void)
{
	assert_int_equal(store_rotate(s, NULL), 0);
}

/* The count of the only row with that user stack of @n words; 0: there is none. */
static uint64_t count_of(uint64_t hash, size_t n)
{
	uint64_t words[STACK_WORDS], count = 0;
	size_t n_rows;
	const struct store_row *rows = store_rows(s, &n_rows);

	for (size_t i = 0; i < n_rows; i++) {
		if (store_stack(s, rows[i].user_stack, words) != n || words[0] != 0x1000 + hash)
			continue;
		for (size_t w = 0; w < n; w++)
			assert_int_equal(words[w], 0x1000 * (w + 1) + hash);
		assert_int_equal(count, 0);
		count = rows[i].count;
	}
	return count;
}

static size_t n_rows(void)
{
	size_t n;

	(void)store_rows(s, &n);
	return n;
}

static uint64_t n_lost(unsigned reason)
{
	uint64_t losses[LOSS_N];

	losses_read(store_losses(s), losses);
	return losses[reason];
}

/* --- tests --- */

TEST_WITH_OBJECT(rows_of_both_levels_and_all_counters_are_added_up)
{
	start(&ample);
	for (uint64_t i = 1; i <= 3 * FIRST; i++)
		put_row(0, put_stack(i, i), i, i <= N_HOT ? i : 0);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
		for (uint32_t hot = 1; hot <= N_HOT; hot++) {
			o.maps.hot[hot_index(cpu, 0, hot, N_HOT)] = 100 * hot;
			o.maps.hot[hot_index(cpu, 1, hot, N_HOT)] = 5; /* the other generation's */
		}
	rotate();
	assert_int_equal(o.n_waits, 1);
	assert_int_equal(n_rows(), 3 * FIRST);
	for (uint64_t i = 1; i <= 3 * FIRST; i++)
		assert_int_equal(count_of(STACK_HASH(i << 8), i),
				 i <= N_HOT ? i + N_CPUS * 100 * i : i);
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++)
		for (uint32_t hot = 1; hot <= N_HOT; hot++) {
			assert_int_equal(o.maps.hot[hot_index(cpu, 0, hot, N_HOT)], 0);
			assert_int_equal(o.maps.hot[hot_index(cpu, 1, hot, N_HOT)], 5);
		}
}

TEST_WITH_OBJECT(sums_are_added_up_with_the_counts)
{
	size_t n;

	for (unsigned g = 0; g < 2; g++) {
		cleanup_close_fd(&o.counts[g][0]);
		o.counts[g][0] = make_map(BPF_MAP_TYPE_HASH, sizeof(struct stack_key),
					  sizeof(struct summed_row), FIRST);
	}
	start(&(const struct store_budget){ AMPLE, .has_sum = true });
	for (int turn = 1; turn <= 2; turn++) {
		const unsigned g = o.state.turn % 2;

		for (uint32_t i = 1; i <= 2; i++) {
			const struct stack_key key = { .tgid = i };
			const struct summed_row row = { { .count = 10, .hot = (uint16_t)i },
							-100 * (int)i };

			put(o.counts[g], &key, &row);
			o.state.n_rows[g]++;
			for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
				uint64_t *own = &o.maps.hot[2 * hot_index(cpu, g, i, N_HOT)];

				own[0] = i;
				own[1] = (uint64_t)-5;
			}
		}
		o.state.n_hot[g] = 2;
		rotate();
		for (uint32_t i = 1; i <= 2; i++)
			assert_int_equal(o.maps.hot[2 * hot_index(0, g, i, N_HOT) + 1], 0);
	}

	const struct store_hit hit = { .key.tgid = 2, .value = INT64_MAX };
	const struct store_row *rows;

	store_add(s, &hit);
	store_add(s, &hit);
	rows = store_rows(s, &n);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		const bool is_second = rows[i].tgid == 2;
		const int64_t sum = 2 * (-100 * (int)rows[i].tgid - 5 * N_CPUS);

		assert_int_equal(rows[i].count, 2 * (10 + N_CPUS * rows[i].tgid) + 2 * is_second);
		assert_true(rows[i].sum == (is_second ? sum - 2 : sum)); /* it wraps around */
	}
}

/* To the nanosecond: what the process had mapped may change at once behind it. */
TEST_WITH_OBJECT(a_row_says_when_it_was_hit_first)
{
	const uint64_t first = clock_ns(CLOCK_MONOTONIC) - 12345;
	const struct stack_key key = { .kernel_stack = 0, .tgid = 9 };
	const struct stack_row row = { .count = 1,
				       .first_low = (uint32_t)first,
				       .first_high = (uint16_t)(first >> 32) };
	size_t n;

	start(&ample);
	put(o.counts[o.state.turn % 2], &key, &row);
	o.state.n_rows[o.state.turn % 2]++;
	rotate();

	const struct store_row *rows = store_rows(s, &n);

	assert_int_equal(n, 1);
	assert_int_equal(rows[0].first, first);
}

TEST_WITH_OBJECT(the_longest_stack_and_pieces_that_are_full_are_whole)
{
	const size_t lengths[] = {
		1,           CHUNK_WORDS - 1, CHUNK_WORDS,      CHUNK_WORDS + 1,
		SHORT_WORDS, SHORT_WORDS + 1, STACK_MAX_FRAMES, STACK_MAX_FRAMES + 1 /* the mark */,
	};

	start(&ample);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		put_row(0, put_stack(i + 1, lengths[i]), i + 1, 0);
	rotate();
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		assert_int_equal(count_of(STACK_HASH((i + 1) << 8), lengths[i]), i + 1);
}

#define MANY 1200

/* So many stacks, of one piece, but each 100th of two. */
static size_t length_of(uint64_t i)
{
	return i % 100 ? i % (CHUNK_WORDS - 1) + 1 : CHUNK_WORDS + 3;
}

TEST_WITH_OBJECT(of_many_stacks_a_torn_one_says_so)
{
	const uint64_t torn = STACK_HASH(100ULL << 8);
	const uint64_t piece = torn + 1;
	uint64_t words[STACK_WORDS];
	size_t n, n_torn = 0, n_words;

	start(&ample);
	for (uint64_t i = 1; i <= MANY; i++)
		put_row(0, put_stack(i, length_of(i)), i, 0);
	(void)bpf_map_delete_elem(o.stacks[0], &piece);
	(void)bpf_map_delete_elem(o.stacks[1], &piece);
	rotate();

	const struct store_row *rows = store_rows(s, &n);

	assert_int_equal(n, MANY);
	for (size_t i = 0; i < n; i++) {
		n_words = store_stack(s, rows[i].user_stack, words);
		if (words[n_words - 1] != STACK_MARK_TORN)
			continue;
		assert_int_equal(rows[i].count, 100);
		assert_int_equal(n_words, CHUNK_WORDS + 1);
		n_torn++;
	}
	assert_int_equal(n_torn, 1);
	assert_false(has_chunk(torn));
}

TEST_WITH_OBJECT(known_stacks_make_room_and_stay_known)
{
	uint64_t old, late;

	start(&(const struct store_budget){ AMPLE, .max_chunks = 16 });
	old = put_stack(1, 2 * CHUNK_WORDS + 1);
	put_row(0, old, 1, 0);
	rotate();
	assert_true(has_chunk(old)); /* there is room enough */
	put_row(put_stack(2, CHUNK_WORDS), put_stack(3, 6 * CHUNK_WORDS), 1, 0);
	late = put_stack(4, 1); /* its row is still to come */
	rotate();
	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++) {
		assert_false(has_chunk(old | i));
		assert_false(has_chunk(STACK_HASH(3 << 8) | i));
	}
	assert_true(has_chunk(late));
	assert_int_equal(o.state.n_chunks, 1);
	put_row(0, old, 10, 0);
	put_row(0, late, 20, 0);
	rotate();
	assert_int_equal(count_of(old, 2 * CHUNK_WORDS + 1), 11);
	assert_int_equal(count_of(late, 1), 20);
}

/* Of this stack's pieces those from @first on; the others the allocator had memory for. */
static void move_to_spare(uint64_t hash, size_t n, uint64_t first)
{
	for (uint64_t i = first; i * CHUNK_WORDS <= n; i++) {
		const uint64_t key = hash | i;
		uint64_t words[CHUNK_WORDS];
		const int level = bpf_map_lookup_elem(o.stacks[0], &key, words) ? 1 : 0;

		assert_int_equal(bpf_map_lookup_elem(o.stacks[level], &key, words), 0);
		assert_int_equal(bpf_map_delete_elem(o.stacks[level], &key), 0);
		assert_int_equal(bpf_map_update_elem(o.stacks[SPARE_LEVEL], &key, words, BPF_ANY),
				 0);
		o.state.n_spare++;
	}
}

/* Stacks that partly lie in the spare map are whole, and it is emptied before it is full. */
TEST_WITH_OBJECT(what_had_no_memory_at_hand_is_read_and_makes_room)
{
	start(&(const struct store_budget){ AMPLE, .max_chunks = 1 << 20 });
	for (uint64_t i = 1; i <= 50; i++) {
		const uint64_t hash = put_stack(i, 1000);

		put_row(0, hash, i, 0);
		move_to_spare(hash, 1000, i);
	}
	assert_in_range(o.state.n_spare, 1, SPARE_TO_NOTICE - 1);
	rotate();
	assert_true(o.state.n_spare > 0); /* there is room enough */
	for (uint64_t i = 51; i <= 100; i++) {
		const uint64_t hash = put_stack(i, 1000);

		put_row(0, hash, i, 0);
		move_to_spare(hash, 1000, 0);
	}
	assert_true(o.state.n_spare >= SPARE_TO_NOTICE);
	rotate();
	assert_int_equal(o.state.n_spare, 0);
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(count_of(STACK_HASH(i << 8), 1000), i);
}

static void begin_pair(uint32_t thread, uint64_t kernel, uint64_t user)
{
	const struct begun_key at = { .thread = thread };
	const struct beginning b = { .key = { .kernel_stack = kernel, .user_stack = user } };

	assert_int_equal(bpf_map_update_elem(o.maps.begun_fd, &at, &b, BPF_ANY), 0);
}

/* Programs come and go until old stacks were forgotten many times. Then a call of before ends. */
TEST_WITH_OBJECT(pairs_that_have_not_ended_keep_their_stacks)
{
	uint64_t kernel, user, other;

	start(&(const struct store_budget){ AMPLE, .user_bytes = 1ULL << 32, .has_pairs = true });
	kernel = put_stack(1, 20);
	user = put_stack(2, 30);
	other = put_stack(3, 30);
	put_row(kernel, user, 1, 0);
	put_row(0, other, 1, 0);
	begin_pair(7, kernel, user);
	for (uint64_t interval = 0; interval < 30; interval++) {
		for (uint64_t i = 1; i <= 20; i++)
			put_row(0, put_stack(3 + interval * 20 + i, 1000), 1, 0);
		rotate();
		assert_int_equal(count_of(user, 30), interval == 0);
		store_clear(s);
	}
	put_row(kernel, user, 5, 0);
	put_row(0, other, 1, 0);
	assert_int_equal(store_stop(s, NULL), 0);
	assert_int_equal(count_of(user, 30), 5);
	assert_int_equal(count_of(other, 30), 0); /* it has been forgotten */
	assert_int_equal(store_losses(s)->n_open, 1);
}

/* The stack is walked in user space, and the pair may end before. */
TEST_WITH_OBJECT(a_row_waits_for_its_late_stack)
{
	const uint64_t words[] = { 0x1005, 0x2005, 0x3005 };
	size_t n;

	start(&ample);
	put_row(0, LATE_STACK(77), 3, 0);
	put_row(0, put_stack(1, 4), 1, 0);
	rotate();
	(void)store_look(s, &n);
	assert_int_equal(n, 1);
	put_row(0, LATE_STACK(77), 4, 0);
	rotate();
	(void)store_look(s, &n);
	assert_int_equal(n, 1);
	store_keep_late(s, 77, words, 3);
	(void)store_look(s, &n);
	assert_int_equal(n, 2);
	assert_int_equal(count_of(5, 3), 7);
}

TEST_WITH_OBJECT(beyond_the_budget_new_stacks_are_a_loss_and_known_ones_count)
{
	uint64_t known;
	size_t n;

	start(&(const struct store_budget){ AMPLE, .user_bytes = 128 << 10 });
	known = put_stack(1, 3);
	put_row(0, known, 1, 0);
	rotate();
	for (uint64_t i = 2; i < 1000; i++)
		put_row(0, put_stack(i, 4), 1, 0);
	put_row(0, known, 1, 0);
	rotate();

	const struct store_row *rows = store_rows(s, &n);
	uint64_t counted = 0;

	for (size_t i = 0; i < n; i++)
		counted += rows[i].count;
	assert_true(n_lost(LOSS_BUDGET) > 0);
	assert_int_equal(counted + n_lost(LOSS_BUDGET), 1000);
	assert_int_equal(count_of(known, 3), 2);
	assert_in_range(o.state.n_chunks, n, n + 1); /* what is lost takes no room there */
}

TEST_WITH_OBJECT(of_a_deep_stack_beyond_the_budget_no_piece_stays)
{
	const struct store_budget none = { .max_rows = 1024, .n_hot_rows = 1, .max_chunks = 4096 };
	size_t n;

	start(&none);
	put_row(0, put_stack(1, 2), 1, 0); /* takes what is there without being asked */
	rotate();
	assert_int_equal(o.state.n_chunks, 1);
	put_row(put_stack(2, SHORT_WORDS), put_stack(3, STACK_MAX_FRAMES + 1), 7, 0);
	assert_int_equal(o.state.n_chunks, 1 + SHORT_CHUNKS + 1 + CHUNKS_PER_STACK);
	rotate();
	(void)store_rows(s, &n);
	assert_true(n_lost(LOSS_BUDGET) >= 7);
	assert_int_equal(o.state.n_chunks, 1);
	for (uint64_t i = 0; i < CHUNKS_PER_STACK; i++)
		assert_false(has_chunk(STACK_HASH(3 << 8) | i));
}

static void delete_stack(uint64_t hash)
{
	for (uint64_t key = hash; key < hash + CHUNKS_PER_STACK; key++)
		for (unsigned level = 0; level < LEVELS; level++)
			(void)bpf_map_delete_elem(o.stacks[level], &key);
}

/*
 * Processes come and go, each with addresses of its own: what is not hit any more makes room, here
 * and in the kernel, where user space deletes known stacks only.
 */
TEST_WITH_OBJECT(intervals_of_ever_new_stacks_lose_none)
{
	const struct store_budget budget = { AMPLE, .user_bytes = 256 << 10 };
	uint64_t kept, next = 2;
	size_t n;

	start(&budget);
	kept = put_stack(1, 3);
	put_row(0, kept, 1, 0);
	for (unsigned interval = 0; interval < 60; interval++) {
		for (unsigned i = 0; i < 200; i++, next++)
			put_row(0, put_stack(next, 4), 1, 0);
		rotate();
		put_row(0, kept, interval + 1, 0); /* while the report is made */
		(void)store_rows(s, &n);
		delete_stack(kept); /* it is known here */
		assert_int_equal(n, 201);
		assert_int_equal(count_of(kept, 3), interval ? interval : 1);
		assert_int_equal(count_of(STACK_HASH((next - 1) << 8), 4), 1);
		assert_true(store_bytes(s) <= budget.user_bytes);
		assert_int_equal(n_lost(LOSS_BUDGET), 0);
		store_clear(s);
		assert_true(o.state.n_chunks < budget.max_chunks / 4); /* of 12,000 */
	}
}

/* There was room for the stacks, but not for the rows. */
TEST_WITH_OBJECT(stacks_of_rows_that_were_lost_make_room)
{
	uint64_t torn;

	start(&(const struct store_budget){ AMPLE, .max_chunks = 1000 });
	for (uint64_t i = 1; i < 500; i++)
		(void)put_stack(i, 20);
	torn = put_stack(500, 20) | 1;
	/* A program is about to store its last piece, and a row behind that. */
	for (unsigned level = 0; level < LEVELS; level++)
		(void)bpf_map_delete_elem(o.stacks[level], &torn);
	o.state.n_chunks--;
	assert_int_equal(o.state.n_chunks, 999);
	rotate();
	assert_int_equal(o.state.n_chunks, 1);
	assert_true(has_chunk(torn & ~1ULL));
	put_row(0, put_stack(7, 20), 3, 0);
	put_row(0, STACK_HASH(8 << 8), 4, 0); /* of a program that had stored its stack */
	rotate();
	assert_int_equal(count_of(STACK_HASH(7 << 8), 20), 3);
	assert_int_equal(count_of(STACK_HASH(8 << 8), 20), 4);
}

/* Hits of ever new stacks, in as many rotations as the kernel's maps need. */
static void count_new(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		put_row(0, put_stack(i, 20), i, 0);
		if (o.state.n_chunks > 1000)
			rotate();
	}
	rotate();
}

/* Working in takes time, too. */
TEST_WITH_OBJECT(maps_are_emptied_while_rows_are_worked_in)
{
	start(&ample);
	for (uint64_t i = 1; i <= 1500; i++)
		put_row(0, put_stack(i, 3), i, 0);
	rotate();
	for (uint64_t i = 1001; i <= 2000; i++)
		put_row(0, put_stack(i, 3), 1, 0);
	assert_int_equal(n_rows(), 1500);
	assert_int_equal(count_of(STACK_HASH(1500 << 8), 3), 1500);
	assert_int_equal(o.state.turn, FIRST_TURN + 2);
	assert_int_equal(o.state.n_rows[(FIRST_TURN + 1) % 2], 0);
	store_clear(s);
	for (uint64_t i = 1; i <= 600; i++) /* the last ones: nothing is to be counted any more */
		put_row(0, put_stack(i, 3), 1, 0);
	assert_int_equal(store_stop(s, NULL), 0);
	o.state.n_rows[0] = o.state.n_rows[1] = ample.max_rows;
	assert_int_equal(n_rows(), 1600);
	assert_int_equal(o.state.turn, TURN_OFF);
	assert_int_equal(count_of(STACK_HASH(1500 << 8), 3), 1);
}

#define FLOOD 1100
#define MOST_FLOODS 300

static uint64_t n_flooded;

/* More new rows than the store settles between two looks at the kernel's maps. */
static void flood(struct object *unused)
{
	if (o.n_waits > MOST_FLOODS)
		return;
	for (unsigned i = 0; i < FLOOD; i++)
		put_row(0, put_stack(1000000 + n_flooded++, 2), 1, 0);
}

/* A user's programs make ever new stacks, faster than the store reads them. */
TEST_WITH_OBJECT(rows_that_come_faster_than_they_are_settled_do_not_hold_up_a_rotation)
{
	size_t n;

	start(&(const struct store_budget){ AMPLE, .user_bytes = 64 << 10 });
	n_flooded = 0;
	o.on_wait = flood;
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(store_rotate(s, NULL), 0);
		assert_in_range(o.n_waits, 1, 20 * i);
		assert_in_range(store_bytes(s), 0, 2 << 20);
	}
	o.on_wait = NULL;
	assert_int_equal(store_stop(s, NULL), 0);
	(void)store_rows(s, &n);
	assert_int_equal(n + n_lost(LOSS_BUDGET), n_flooded);
}

/* So many that old ones are forgotten behind each report, though rows refer to others by then. */
TEST_WITH_OBJECT(rows_that_come_while_a_report_is_made_keep_their_stacks)
{
	const struct store_budget budget = { AMPLE, .max_chunks = 200, .user_bytes = 512 << 10 };
	uint64_t next = 2;

	start(&budget);
	for (unsigned interval = 0; interval < 12; interval++) {
		const uint64_t lasting = put_stack(1, 30);

		put_row(0, lasting, 1, 0);
		count_new(next, next + 100);
		put_row(0, lasting, 2, 0);
		rotate();
		assert_int_equal(n_rows(), interval ? 201 : 101);
		assert_int_equal(count_of(lasting, 30), interval ? 10 : 3);
		for (uint64_t i = interval ? next - 100 : next; i < next + 100; i++)
			assert_int_equal(count_of(STACK_HASH(i << 8), 20), i);
		put_row(0, lasting, 3, 0);
		count_new(next + 100, next + 200);
		put_row(0, lasting, 4, 0);
		rotate();
		assert_int_equal(n_rows(),
				 interval ? 201 : 101); /* the report's: names may take minutes */
		assert_int_equal(count_of(lasting, 30), interval ? 10 : 3);
		assert_true(o.state.n_chunks < 200);
		assert_true(store_bytes(s) <= budget.user_bytes);
		assert_int_equal(n_lost(LOSS_BUDGET), 0);
		store_clear(s);
		next += 200;
	}
}

/* The report's rows take all the memory that there is, and are about to give it back. */
TEST_WITH_OBJECT(new_rows_wait_for_the_memory_of_a_report)
{
	uint64_t n_before;
	size_t n;

	start(&(const struct store_budget){ AMPLE, .max_chunks = 80, .user_bytes = 160 << 10 });
	for (uint64_t i = 1; i < 1000; i++)
		put_row(0, put_stack(i, 4), 1, 0);
	rotate();
	(void)store_rows(s, &n);
	n_before = n_lost(LOSS_BUDGET);
	assert_in_range(n, 100, 998);
	assert_int_equal(n + n_before, 999);
	assert_true(o.state.n_chunks < 40);
	for (uint64_t i = 1000; i < 1050; i++)
		put_row(0, put_stack(i, 4), i, 0);
	rotate();
	assert_int_equal(n_lost(LOSS_BUDGET), n_before);
	assert_true(store_awaits_room(s));
	store_clear(s);
	assert_false(store_awaits_room(s));
	put_row(0, STACK_HASH(1000 << 8), 1, 0);
	rotate();
	assert_int_equal(n_rows(), 50);
	assert_int_equal(count_of(STACK_HASH(1000 << 8), 4), 1001);
	assert_int_equal(count_of(STACK_HASH(1049 << 8), 4), 1049);
	assert_int_equal(n_lost(LOSS_BUDGET), 0);
}

/* While the kernel looks through an empty map, it runs no program on that CPU. */
TEST_WITH_OBJECT(no_level_is_read_behind_the_last_row)
{
	start(&ample);
	assert_int_equal(store_rotate(s, NULL), 0);
	assert_int_equal(o.n_asked[0] + o.n_asked[1], 0); /* there is no row */
	put_row(0, put_stack(1, 3), 5, 0);
	assert_int_equal(store_rotate(s, NULL), 0);
	assert_int_equal(o.n_asked[0], 1);
	assert_int_equal(o.n_asked[1], 0);
	for (uint64_t i = 1; i <= FIRST + 1; i++)
		put_row(0, put_stack(i, 3), 1, 0);
	assert_int_equal(store_rotate(s, NULL), 0);
	assert_int_equal(o.n_asked[1], 1);
	assert_int_equal(count_of(STACK_HASH(1 << 8), 3), 6);
	assert_int_equal(count_of(STACK_HASH((uint64_t)(FIRST + 1) << 8), 3), 1);
}

TEST_WITH_OBJECT(losses_are_told_once)
{
	uint64_t values[1024] = { 2, 3 };
	const uint32_t reason = LOST_COUNTS_FULL;
	s = store_new(&o, &ample, N_CPUS);

	assert_int_equal(bpf_map_update_elem(o.maps.lost_fd, &reason, values, BPF_ANY), 0);
	assert_int_equal(n_lost(LOST_COUNTS_FULL), 5);
	assert_int_equal(n_lost(LOSS_RECURSION), 7);
	assert_int_equal(n_lost(LOST_STACKS_FULL), 0);
	store_clear(s);
	assert_int_equal(n_lost(LOST_COUNTS_FULL), 0);
	assert_int_equal(n_lost(LOSS_RECURSION), 0);
}

TEST(the_budget_is_divided_without_remainder_for_any_machine)
{
	const uint32_t cpus[] = { 1, 2, 128, 4096 };
	struct store_budget b = {};

	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		for (uint64_t mib = 1; mib <= 1 << 16; mib *= 2) {
			store_divide(mib << 20, cpus[i], &b);
			assert_int_equal(b.max_rows & (b.max_rows - 1), 0);
			assert_true(b.n_hot_rows && b.max_rows && b.max_chunks >= b.max_rows);
			/* elements, buckets and counters */
			uint64_t kernel = 2ULL * b.max_rows * (96 + 16) +
					  b.max_chunks * (192ULL + 16) +
					  16ULL * b.n_hot_rows * cpus[i];

			assert_true(kernel + b.user_bytes <= mib << 20);
			assert_true(b.user_bytes >= mib << 18);
		}
	}
	store_divide(256 << 20, 128, &b);
	assert_true(b.max_rows >= 200000 && b.max_chunks >= 400000);
}

/* --- counters of calls --- */

#define N_TARGETS 10
#define PER_CPU 16

static uint32_t turn_at_wait;

static void note_turn(struct object *unused)
{
	turn_at_wait = o.state.turn;
}

static struct calls *new_calls(void)
{
	static uint64_t counters[N_CPUS * PER_CPU];

	o = (struct object){ .maps.calls = counters,
			     .maps.lost_fd = -1,
			     .maps.begun_fd = -1,
			     .recursion_misses = 7,
			     .on_wait = note_turn };
	return calls_new(&o, N_TARGETS, N_CPUS);
}

static void call(uint32_t cpu, uint32_t target, uint64_t n)
{
	o.maps.calls[call_index(cpu, target, calls_per_cpu(N_TARGETS))] += n;
}

TEST(calls_in_intervals_are_differences)
{
	struct calls *c = new_calls();
	uint64_t losses[LOSS_N];

	losses_read(calls_losses(c), losses);
	assert_int_equal(losses[LOSS_RECURSION], 7);
	call(0, 9, 5);
	assert_int_equal(calls_read(c)[9], 5);
	call(1, 9, 2);
	losses_reported(calls_losses(c));
	losses_read(calls_losses(c), losses);
	assert_int_equal(losses[LOSS_RECURSION], 0);
	call(2, 9, 4);
	assert_int_equal(calls_read(c)[9], 6);
	assert_int_equal(calls_read(c)[9], 0);
	calls_free(c);
}

TEST(the_end_waits_for_programs_that_still_count)
{
	struct calls *c = new_calls();

	turn_at_wait = 99;
	calls_start(c);
	assert_int_equal(o.state.turn, FIRST_TURN);
	assert_int_equal(calls_stop(c, NULL), 0);
	assert_int_equal(turn_at_wait, TURN_OFF);
	calls_free(c);
}

TEST_MAIN(NULL, NULL)
