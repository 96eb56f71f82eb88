/* rooms: tables base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Deferred hits: taken from a ring that lies here, and walked by rules that lie here. A live walk
 * is in tests/e2e/test_deferred.py.
 */
#include "test.h"

#include "base/hash.h"
#include "tables/deferral.h"
#include "tables/late.h"

#define CODE 0x400000ULL
#define STACK 0x7fff00000000ULL
#define OUTERMOST ((struct unwind_rule){ .how = UNWIND_HOW(UNWIND_OUTERMOST, 0) })

struct fixture {
	struct deferred_piece pieces[DEFERRED_PIECES];
	struct deferred_ring ring;
	struct deferred_reader reader;
};

static int make_ring(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	deferred_begin(&f->reader, f->pieces, &f->ring);
	*state = f;
	return 0;
}

static int free_ring(void **state)
{
	free(*state);
	return 0;
}

#define TEST_WITH_RING(name) TEST_OF(name, struct fixture *f, make_ring, free_ring)

/* A hit as a program writes it: @kernel and @user words, and @n_stack words of stack from @from. */
struct made {
	uint32_t n_kernel, n_user;
	uint64_t from;
	uint32_t n_stack;
	const uint64_t *stack;
};

static void put_word(struct fixture *f, uint64_t first, uint32_t at, uint64_t word)
{
	f->pieces[(first + at / DEFERRED_PIECE_WORDS) % DEFERRED_PIECES]
		.words[at % DEFERRED_PIECE_WORDS] = word;
}

static void put_stack(struct fixture *f, uint64_t piece, const struct made *m)
{
	const uint64_t end = m->from + 8ULL * m->n_stack;
	uint64_t at = m->from;

	while (at < end) {
		uint64_t n = DEFERRED_PIECE_BYTES - at % DEFERRED_PIECE_BYTES;

		n = n < end - at ? n : end - at;
		memcpy(&f->pieces[piece++ % DEFERRED_PIECES],
		       (const uint8_t *)m->stack + (at - m->from), n);
		at += n;
	}
}

/* Returns the hit, without its number. */
static struct deferred_hit *make_hit(struct fixture *f, const struct made *m)
{
	const uint64_t first = f->ring.head;
	const uint32_t n_kernel = deferred_blocks(m->n_kernel);
	const uint32_t n_blocks = n_kernel + deferred_blocks(m->n_user);
	struct deferred_hit *hit = (void *)&f->pieces[first % DEFERRED_PIECES];

	*hit = (struct deferred_hit){
		.n_kernel = m->n_kernel,
		.n_user = m->n_user,
		.n_cut = m->n_user,
		.cut_mark = STACK_MARK_WALK + UNWIND_END_NO_TABLE_YET,
		.stack_from = m->from,
		.stack_bytes = 8 * m->n_stack,
		.n_pieces = deferred_word_pieces(n_blocks) +
			    deferred_stack_pieces(m->from, 8 * m->n_stack),
	};
	for (uint32_t i = 0; i < m->n_kernel; i++)
		put_word(f, first, deferred_block_at(0) + i, 0xffff000000000000 + i);
	for (uint32_t i = 0; i < m->n_user; i++)
		put_word(f, first, deferred_block_at(n_kernel) + i, CODE + 0x10000 + i);
	put_stack(f, first + deferred_word_pieces(n_blocks), m);
	f->ring.head += hit->n_pieces;
	hit->regs = (struct unwind_regs){ .pc = CODE, .known = UNWIND_ALL_KNOWN, .is_exact = 1 };
	hit->regs.of[UNWIND_REG_SP] = m->from;
	return hit;
}

static void commit(struct fixture *f, struct deferred_hit *hit)
{
	const uint64_t at = (uint64_t)((struct deferred_piece *)hit - f->pieces);
	uint64_t first = f->ring.head - hit->n_pieces;

	while (first % DEFERRED_PIECES != at)
		first--;
	hit->number = first + 1;
}

TEST_WITH_RING(hits_come_in_order_when_they_are_written)
{
	const struct made m = { .n_user = 1 };
	struct deferred_hit *a = make_hit(f, &m), *b = make_hit(f, &m);
	struct recorded got;

	commit(f, b);
	assert_false(deferred_take(&f->reader, &got));
	commit(f, a);
	assert_true(deferred_take(&f->reader, &got));
	assert_ptr_equal(got.hit, a);
	assert_true(deferred_take(&f->reader, &got));
	assert_ptr_equal(got.hit, b);
	assert_false(deferred_take(&f->reader, &got));
}

static bool is_cleared(const struct fixture *f, uint64_t first, uint32_t n)
{
	for (uint64_t i = first; i < first + n; i++)
		for (unsigned w = 0; w < DEFERRED_PIECE_WORDS; w++)
			if (f->pieces[i % DEFERRED_PIECES].words[w])
				return false;
	return true;
}

TEST_WITH_RING(a_place_is_cleared_and_then_free)
{
	static const uint64_t secret[300] = { [0 ... 299] = 0x5ec4e7 };
	const struct made m = { .n_user = 1, .from = STACK + 40, .n_stack = 300, .stack = secret };
	struct recorded a, b;
	uint32_t n;

	commit(f, make_hit(f, &m));
	commit(f, make_hit(f, &m));
	assert_true(deferred_take(&f->reader, &a) && deferred_take(&f->reader, &b));
	n = a.hit->n_pieces;
	assert_int_equal(n, 4);
	deferred_done(&f->reader, &b);
	assert_int_equal(b.hit->n_pieces, n);
	((struct deferred_hit *)b.hit)->n_pieces = 0; /* all else is cleared */
	assert_true(is_cleared(f, n, n) && !is_cleared(f, 0, n));
	((struct deferred_hit *)b.hit)->n_pieces = n;
	assert_int_equal(f->ring.tail, 0); /* the first one is not done */
	deferred_done(&f->reader, &a);
	assert_true(is_cleared(f, 0, 2 * n));
	assert_int_equal(f->ring.tail, 2 * n);
}

/* The ring is passed many times, by hits of all lengths. */
TEST_WITH_RING(nothing_is_mixed_up_at_the_end_of_the_ring)
{
	uint64_t stack[1000], word, words[STACK_WORDS];
	struct recorded r;

	for (uint32_t i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = hash_mix(i);
	for (uint32_t i = 0; i < 3000; i++) {
		const struct made m = { .n_kernel = i * 7 % SHORT_WORDS,
					.n_user = 1 + i * 13 % STACK_MAX_FRAMES,
					.from = STACK +
						i * 25 % 4096, /* words lie across pieces, too */
					.n_stack = i * 31 % 1000,
					.stack = stack };

		commit(f, make_hit(f, &m));
		assert_true(deferred_take(&f->reader, &r));
		for (uint32_t w = 0; w < m.n_stack; w += 1 + w / 8) {
			assert_true(recorded_read(&r, m.from + 8ULL * w, &word));
			assert_true(word == stack[w]);
		}
		assert_false(recorded_read(&r, m.from + 8ULL * m.n_stack - 7, &word));
		assert_false(recorded_read(&r, m.from - 1, &word));
		assert_int_equal(recorded_kernel_words(&r, words), m.n_kernel);
		for (uint32_t w = 0; w < m.n_kernel; w++)
			assert_true(words[w] == 0xffff000000000000 + w);
		assert_int_equal(recorded_user_words(&r, words), m.n_user);
		for (uint32_t w = 0; w + 1 < m.n_user; w++)
			assert_true(words[w] == CODE + 0x10000 + w);
		assert_true(words[m.n_user - 1] == (m.n_user > 1 ? CODE | STACK_WORD_EXACT : CODE));
		deferred_done(&f->reader, &r);
	}
	assert_true(f->ring.tail > 2 * DEFERRED_PIECES);
	assert_int_equal(f->ring.tail, f->ring.head);
}

/* --- walks --- */

/* What is at CODE + 0x1000 * i: a rule, or why there is none. */
struct code {
	struct unwind_rule rule;
	enum unwind_end end;
};

static int find_code(void *from, __u64 addr, struct unwind_rule *ret)
{
	const struct code *code = from;
	const uint64_t i = (addr - CODE) / 0x1000;

	*ret = (struct unwind_rule){};
	if (i >= 8)
		return UNWIND_END_NO_MAPPING;
	*ret = code[i].rule;
	return code[i].end;
}

/* A frame of two words: one local, and the return address. */
#define PLAIN                                                                        \
	{                                                                            \
		.rule = {.offset = 16, .how = UNWIND_HOW(UNWIND_IS, UNWIND_REG_SP) } \
	}

/* The words behind the first one are those of @expected. */
static void expect_walk(struct fixture *f, const struct made *m, const struct code *code,
			uint32_t most, const uint64_t *expected, size_t n)
{
	uint64_t words[STACK_WORDS];
	struct recorded r;

	commit(f, make_hit(f, m));
	assert_true(deferred_take(&f->reader, &r));
	assert_int_equal(late_walk(&r, most, find_code, (void *)code, words), n + 1);
	assert_true(words[0] == CODE);
	for (size_t i = 0; i < n; i++)
		assert_true(words[i + 1] == expected[i]);
	deferred_done(&f->reader, &r);
}

static const uint64_t two_frames[] = { 1, CODE + 0x1010, 2, CODE + 0x2010, 3, CODE + 0x3010 };

#define MADE(of)                                                                     \
	{                                                                            \
		.n_user = 1, .from = STACK, .n_stack = ARRAY_SIZE(of), .stack = (of) \
	}
#define MARK(end) (STACK_MARK_WALK + (end))

TEST_WITH_RING(a_walk_goes_to_the_root)
{
	const struct code code[8] = { PLAIN, PLAIN, { OUTERMOST, 0 } };
	const uint64_t expected[] = { CODE + 0x1010, CODE + 0x2010 };
	const struct made m = MADE(two_frames);

	expect_walk(f, &m, code, 1024, expected, 2);
}

TEST_WITH_RING(a_walk_ends_with_its_reason)
{
	const struct made m = MADE(two_frames);
	struct code code[8] = { PLAIN, { .end = UNWIND_END_NO_TABLE_YET } };
	uint64_t expected[] = { CODE + 0x1010, MARK(UNWIND_END_NO_TABLE_YET), 0, 0 };

	expect_walk(f, &m, code, 1024, expected, 2);
	code[1].end = UNWIND_END_NO_MAPPING;
	expected[1] = MARK(UNWIND_END_NO_MAPPING);
	expect_walk(f, &m, code, 1024, expected, 2);
	code[1].end = 0; /* code without a row: its bytes were not recorded */
	expected[1] = MARK(UNWIND_END_NO_ROW);
	expect_walk(f, &m, code, 1024, expected, 2);
	code[1].end = UNWIND_END_PROBED; /* the trampoline is no frame */
	expected[0] = MARK(UNWIND_END_PROBED);
	expect_walk(f, &m, code, 1024, expected, 1);
	code[1] = (struct code)PLAIN;
	expected[0] = CODE + 0x1010;
	expected[1] = MARK(UNWIND_END_DEPTH);
	expect_walk(f, &m, code, 2, expected, 2);
}

TEST_WITH_RING(memory_that_was_not_recorded_ends_a_walk)
{
	const struct code code[8] = { PLAIN, PLAIN, PLAIN, PLAIN };
	const uint64_t expected[] = { CODE + 0x1010, CODE + 0x2010, CODE + 0x3010,
				      MARK(UNWIND_END_UNREADABLE) };
	const uint64_t far[] = { MARK(UNWIND_END_NOT_RECORDED) };
	static uint64_t stack[DEFERRED_STACK_BYTES / 8];
	const struct code one[8] = { { .rule = { .offset = DEFERRED_STACK_BYTES + 8,
						 .how = UNWIND_HOW(UNWIND_IS, UNWIND_REG_SP) } } };
	const struct made small = MADE(two_frames), large = MADE(stack);

	expect_walk(f, &small, code, 1024, expected, 4);
	expect_walk(f, &large, one, 1024, far, 1);
}

TEST_WITH_RING(steps_through_made_code_are_unverified)
{
	const uint64_t stack[] = { STACK + 16, CODE + 0x1010, 0, CODE + 0x2010 };
	const struct made m = MADE(stack);
	const struct code code[8] = { { .rule = UNWIND_BY_FRAMES(UNWIND_MADE_FRAMES) },
				      { OUTERMOST, 0 } };
	uint64_t words[STACK_WORDS];
	struct deferred_hit *hit = make_hit(f, &m);
	struct recorded r;

	hit->regs.of[UNWIND_REG_FP] = STACK;
	commit(f, hit);
	assert_true(deferred_take(&f->reader, &r));
	assert_int_equal(late_walk(&r, 1024, find_code, (void *)code, words), 3);
	assert_true(words[1] == CODE + 0x1010 && words[2] == STACK_MARK_UNVERIFIED);
}

/* By a frame pointer; the caller's row says nothing of the code that called. */
TEST_WITH_RING(a_step_from_code_without_rows_needs_a_call_and_a_frame_further_up)
{
	static const struct {
		uint64_t fp;
		bool has_code, is_taken;
	} cases[] = {
		{ STACK, true, true },
		{ STACK, false, false },
		{ STACK - 8, true, false },
		{ STACK + 4, true, false },
	};
	const uint64_t stack[] = { 0, CODE + 0x1010, 0, CODE + 0x2010 };
	const struct code code[8] = { {}, PLAIN, { OUTERMOST, 0 } };
	const struct made m = MADE(stack);
	uint64_t words[STACK_WORDS];
	struct recorded r;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct deferred_hit *hit = make_hit(f, &m);

		hit->regs.of[UNWIND_REG_FP] = cases[i].fp;
		if (cases[i].has_code)
			hit->codes[3] = (struct deferred_code){ CODE + 0x1008, 0xe8ULL << 24 };
		commit(f, hit);
		assert_true(deferred_take(&f->reader, &r));
		if (cases[i].is_taken) {
			assert_int_equal(late_walk(&r, 1024, find_code, (void *)code, words), 4);
			assert_true(words[1] == CODE + 0x1010 && words[2] == CODE + 0x2010);
			assert_true(words[3] == STACK_MARK_UNVERIFIED);
		} else {
			assert_int_equal(late_walk(&r, 1024, find_code, (void *)code, words), 2);
			assert_true(words[1] == MARK(UNWIND_END_NO_ROW));
		}
		deferred_done(&f->reader, &r);
	}
}

TEST_WITH_RING(without_a_walk_the_stack_is_cut)
{
	uint64_t words[STACK_WORDS];
	struct recorded r;

	commit(f, make_hit(f, &(struct made){ .n_user = 3 }));
	assert_true(deferred_take(&f->reader, &r));
	assert_int_equal(recorded_cut_words(&r, words), 4);
	assert_true(words[0] == CODE + 0x10000 && words[1] == CODE + 0x10001);
	assert_true(words[2] == (CODE | STACK_WORD_EXACT));
	assert_true(words[3] == MARK(UNWIND_END_NO_TABLE_YET));
}

TEST_MAIN(NULL, NULL)
