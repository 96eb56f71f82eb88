/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The step from a frame to its caller, over a few words of memory; the rule for a JIT compiler's
 * code; and the searches for a rule.
 */
#include "test.h"

#include "bpf/tables.h"
#include "rules.h"

#define STACK 0x7ffe0000UL
#define N_WORDS 64

/* Word @i of the stack is 1000 + i, if nothing else was put there. */
struct memory {
	uint64_t words[N_WORDS];
	size_t n_reads;
};

static _Bool read_word(void *from, __u64 at, __u64 *ret)
{
	struct memory *m = from;

	m->n_reads++;
	if (at < STACK || at > STACK + 8UL * (N_WORDS - 1) || at % 8)
		return 0;
	*ret = m->words[(at - STACK) / 8];
	return 1;
}

static struct memory m;
static struct unwind_regs regs;

/* Register @i is 100 + i, but rsp and rbp lead into the stack. */
static void reset_regs(void)
{
	regs = (struct unwind_regs){ .pc = 0x1234, .known = UNWIND_ALL_KNOWN, .is_exact = 1 };
	for (uint64_t i = 0; i < UNWIND_N_REGISTERS; i++)
		regs.of[i] = 100 + i;
	regs.of[UNWIND_RSP] = STACK + 8UL * 4;
	regs.of[UNWIND_RBP] = STACK + 8UL * 10;
}

static void again(void)
{
	for (size_t i = 0; i < N_WORDS; i++)
		m.words[i] = 1000 + i;
	m.n_reads = 0;
	reset_regs();
}

static int begin(void **state)
{
	again();
	return 0;
}

#define TEST_OF_STEP(name) TEST_WITH(name, begin, NULL)

static enum unwind_end step(struct unwind_rule rule)
{
	return unwind_step(&regs, rule, read_word, &m);
}

#define CALLERS_KNOWN (1 << UNWIND_RSP | 1 << UNWIND_RBP | 1 << UNWIND_RBX)

static void expect_caller(uint64_t pc, size_t sp, uint64_t bp, uint64_t bx)
{
	assert_int_equal(regs.pc, pc);
	assert_int_equal(regs.of[UNWIND_RSP], STACK + 8 * sp);
	assert_int_equal(regs.of[UNWIND_RBP], bp);
	assert_int_equal(regs.of[UNWIND_RBX], bx);
	assert_int_equal(regs.known, CALLERS_KNOWN);
}

TEST_OF_STEP(each_kind_of_rule)
{
	static const uint64_t same_bp = STACK + 8UL * 10, same_bx = 100 + UNWIND_RBX;
	const struct {
		struct unwind_rule rule;
		uint64_t pc;
		size_t sp;
		uint64_t bp, bx;
		size_t n_reads;
	} rows[] = {
		{ RULE(UNWIND_IS, UNWIND_RSP, 8, 0, 0), 1004, 5, same_bp, same_bx, 1 },
		{ RULE(UNWIND_IS, UNWIND_RSP, 40, -2, -4), 1008, 9, 1007, 1005, 3 },
		{ RULE(UNWIND_IS, UNWIND_RBP, 16, -2, 0), 1011, 12, 1010, same_bx, 2 },
		{ RULE(UNWIND_FRAMES, UNWIND_RBP, 16, -2, 0), 1011, 12, 1010, same_bx, 2 },
		{ RULE(UNWIND_MADE_FRAMES, UNWIND_RBP, 16, -2, 0), 1011, 12, 1010, same_bx, 2 },
		{ made_bare(40, -2), 1008, 9, 1007, same_bx, 2 },
		{ RULE(UNWIND_IS_BY_FP, UNWIND_RBP, 32, 0, -1), 1013, 14, 1010, 1009, 3 },
		{ RULE(UNWIND_AT, UNWIND_RSP, 16, -4, 0), 1029, 30, 1026, same_bx, 3 },
		{ RULE(UNWIND_AT_8, UNWIND_RSP, 16, 0, 0), 1030, 31, same_bp, same_bx, 2 },
		{ RULE(UNWIND_AT_BY_FP, UNWIND_RBP, -32, 0, -2), 1029, 30, 1010, 1008, 4 },
		{ RULE(UNWIND_PLT, UNWIND_RSP, 8, 4, 0), 1005, 6, same_bp, same_bx, 1 },
		{ RULE(UNWIND_PLT, UNWIND_RSP, 8, 5, 0), 1004, 5, same_bp, same_bx, 1 },
		{ RULE(UNWIND_PC_IN, UNWIND_RDI, 0, 0, 0), 105, 4, same_bp, same_bx, 0 },
		{ RULE(UNWIND_PUSHED, UNWIND_RSP, 40, -2, -4), 1008, 9, 1007, 1005, 3 },
		{ RULE(UNWIND_CLONED, UNWIND_RSP, 8, 0, 0), 1004, 5, same_bp, same_bx, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		again();
		m.words[6] = STACK + 8UL * 30;
		assert_int_equal(step(rows[i].rule), UNWIND_GOES_ON);
		expect_caller(rows[i].pc, rows[i].sp, rows[i].bp, rows[i].bx);
		assert_int_equal(regs.is_exact, (rows[i].rule.how & 15) == UNWIND_PUSHED);
		assert_int_equal(m.n_reads, rows[i].n_reads);
	}
}

/* A window on the words from @first on, @n of them. */
static struct unwind_window make_window(size_t first, size_t n)
{
	struct unwind_window w = { .base = STACK + 8 * first, .n_valid = 8 * n };

	memcpy(w.words, m.words + first, n * sizeof(w.words[0]));
	return w;
}

/* Any rule that is likely, some that are not, and what no CFI says. */
static struct unwind_rule any_rule(unsigned *seed)
{
	const uint8_t kind = rand_r(seed) % 8 ? UNWIND_IS : rand_r(seed) % 16;
	const uint8_t reg = rand_r(seed) % 8 ? UNWIND_RSP : rand_r(seed) % 16;
	const int32_t offset = rand_r(seed) % 16 ? rand_r(seed) % 30 * 8 : rand_r(seed) - (1 << 30);
	const int16_t bp = rand_r(seed) % 2 ? 0 : (int16_t)(rand_r(seed) % 24 - 20);
	const int8_t bx = rand_r(seed) % 2 ? 0 : (int8_t)(rand_r(seed) % 24 - 20);

	return RULE(kind, reg, offset, rand_r(seed) % 16 ? bp : UNWIND_FP_LOST,
		    rand_r(seed) % 16 ? bx : UNWIND_THIRD_LOST);
}

/* Where it does anything at all. */
TEST_OF_STEP(the_quick_step_does_what_the_step_does)
{
	unsigned seed = 1, n_quick = 0;

	for (int i = 0; i < 200000; i++) {
		const struct unwind_rule rule = any_rule(&seed);
		struct unwind_regs quick, slow;
		size_t first = (size_t)rand_r(&seed) % 8;
		struct unwind_window w;

		again();
		quick = regs;
		m.words[(size_t)rand_r(&seed) % N_WORDS] = 0;
		w = make_window(first, (size_t)rand_r(&seed) % (N_WORDS - first));
		if (rand_r(&seed) % 16 == 0)
			quick.of[UNWIND_RSP] -= (uint64_t)rand_r(&seed) % 1000;
		if (rand_r(&seed) % 8 == 0)
			quick.known = (uint32_t)rand_r(&seed) & UNWIND_ALL_KNOWN;
		slow = quick;
		if (unwind_quickly(&quick, rule, &w)) {
			n_quick++;
			regs = slow;
			assert_int_equal(step(rule), UNWIND_GOES_ON);
			slow = regs;
		}
		assert_memory_equal(&quick, &slow, sizeof(quick));
	}
	assert_true(n_quick > 20000);
}

TEST_OF_STEP(why_a_walk_ends)
{
	const struct {
		struct unwind_rule rule;
		enum unwind_end end;
	} rows[] = {
		{ {}, UNWIND_END_NO_ROW },
		{ { .how = UNWIND_UNFIT }, UNWIND_END_UNFIT },
		{ RULE(UNWIND_MADE_BARE, UNWIND_RSP, 16, 0, 0), UNWIND_END_CHAIN },
		{ { .how = UNWIND_OUTERMOST }, UNWIND_END_ROOT },
		{ RULE(UNWIND_IS, UNWIND_RSP, 8 * 61, 0, 0), UNWIND_END_UNREADABLE },
		{ RULE(UNWIND_IS, UNWIND_RAX, 8, 0, 0), UNWIND_END_UNREADABLE },
		{ RULE(UNWIND_AT, UNWIND_RAX, 0, 0, 0), UNWIND_END_UNREADABLE },
		{ RULE(UNWIND_IS, UNWIND_RSP, 0, 0, 0), UNWIND_END_NOT_ADVANCING },
		{ RULE(UNWIND_IS, UNWIND_RSP, 16, 0, 0), UNWIND_END_ROOT }, /* returns to 0 */
		{ { .how = UNWIND_SIGNAL }, UNWIND_GOES_ON },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		again();
		m.words[5] = 0;
		assert_int_equal(step(rows[i].rule), rows[i].end);
	}
}

/* clone() returns 0 to the child, whose stack may hold anything. To the parent it returns an error
 * or a number. */
TEST_OF_STEP(a_child_that_was_cloned_has_no_caller)
{
	static const struct unwind_rule rule = RULE(UNWIND_CLONED, UNWIND_RSP, 8, 0, 0);
	static const uint64_t to_parent[] = { 1, 4711, -38ULL };

	regs.of[UNWIND_RAX] = 0;
	assert_int_equal(step(rule), UNWIND_END_ROOT);
	assert_int_equal(m.n_reads, 0);
	for (size_t i = 0; i < ARRAY_SIZE(to_parent); i++) {
		reset_regs();
		regs.of[UNWIND_RAX] = to_parent[i];
		assert_int_equal(step(rule), UNWIND_GOES_ON);
		assert_int_equal(regs.pc, 1004);
	}
	reset_regs();
	regs.known &= ~(1U << UNWIND_RAX); /* nothing calls from there */
	assert_int_equal(step(rule), UNWIND_END_UNFIT);
}

/* By the ABI it is 0 in the outermost frame, but something called what was made at run time. */
TEST_OF_STEP(a_chain_of_frame_pointers_ends_where_rbp_is_none)
{
	static const struct unwind_rule frames = RULE(UNWIND_FRAMES, UNWIND_RBP, 16, -2, 0);
	static const struct unwind_rule made = RULE(UNWIND_MADE_FRAMES, UNWIND_RBP, 16, -2, 0);
	static const uint64_t bp = STACK + 8UL * 10, far = STACK + 8UL * 4;
	const struct {
		struct unwind_rule rule;
		uint64_t bp, pc; /* the return address there */
		enum unwind_end end;
	} rows[] = {
		{ frames, bp, 1, UNWIND_GOES_ON },
		{ frames, bp, 0, UNWIND_END_ROOT },
		{ frames, bp + 4, 1, UNWIND_END_CHAIN },
		{ frames, 0, 1, UNWIND_END_ROOT },
		{ frames, 8, 1, UNWIND_END_CHAIN },
		{ frames, far + UNWIND_LIKELY_STACK_BYTES, 1, UNWIND_END_CHAIN },
		{ frames, far + UNWIND_LIKELY_STACK_BYTES - 8, 1, UNWIND_END_UNREADABLE },
		{ made, bp, 1, UNWIND_GOES_ON },
		{ made, bp, 0, UNWIND_END_CHAIN },
		{ made, 0, 1, UNWIND_END_CHAIN },
		{ {}, 0, 1, UNWIND_END_NO_ROW }, /* code without rows is no root */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		again();
		m.words[11] = rows[i].pc;
		regs.of[UNWIND_RBP] = rows[i].bp;
		assert_int_equal(step(rows[i].rule), rows[i].end);
	}

	again();
	regs.known = 1 << UNWIND_RSP;
	regs.of[UNWIND_RBP] = 0;
	assert_int_equal(step(UNWIND_FRAME_POINTERS), UNWIND_END_UNFIT);
}

TEST_OF_STEP(a_callers_registers_are_known_only_where_calls_keep_them)
{
	for (uint32_t reg = 0; reg < UNWIND_N_REGISTERS; reg++) {
		enum unwind_end first, second;
		bool is_kept = CALLERS_KNOWN >> reg & 1;

		reset_regs();
		regs.of[reg] = STACK + 8UL * 20;
		first = step(RULE(UNWIND_IS, reg, 8, 0, 0));
		second = step(RULE(UNWIND_IS, reg, 16, 0, 0));
		assert_int_equal(first, UNWIND_GOES_ON);
		assert_int_equal(second, is_kept ? UNWIND_GOES_ON : UNWIND_END_UNFIT);
		/* The same where the return address is said to be in it. */
		assert_int_equal(step(RULE(UNWIND_PC_IN, reg, 8, 0, 0)),
				 is_kept ? UNWIND_GOES_ON : UNWIND_END_UNFIT);
	}
}

TEST_OF_STEP(what_is_lost_or_unreadable_is_not_known)
{
	const struct unwind_rule by_bp = RULE(UNWIND_IS_BY_FP, UNWIND_RSP, 8, 0, 0);
	const struct unwind_rule lost =
		RULE(UNWIND_IS, UNWIND_RSP, 8, UNWIND_FP_LOST, UNWIND_THIRD_LOST);
	const struct unwind_rule outside = RULE(UNWIND_IS, UNWIND_RSP, 8, -6, -7);
	const struct unwind_rule found = RULE(UNWIND_IS, UNWIND_RSP, 8, -1, -2);

	assert_int_equal(step(lost), UNWIND_GOES_ON);
	assert_int_equal(regs.known, 1 << UNWIND_RSP);
	assert_int_equal(step(by_bp), UNWIND_END_UNFIT);
	assert_int_equal(step(found), UNWIND_GOES_ON);
	assert_int_equal(regs.known, CALLERS_KNOWN);
	reset_regs();
	assert_int_equal(step(outside), UNWIND_GOES_ON);
	assert_int_equal(regs.known, 1 << UNWIND_RSP);
}

TEST_OF_STEP(a_stack_may_lead_down_a_few_times)
{
	const struct unwind_rule rule = RULE(UNWIND_IS, UNWIND_RBP, 0, -1, 0);
	size_t n = 0;

	/* Two frames, each the other's caller. */
	m.words[9] = STACK + 8UL * 3;
	m.words[2] = STACK + 8UL * 10;
	while (n < 100 && step(rule) == UNWIND_GOES_ON)
		n++;
	assert_int_equal(n, 2 * UNWIND_MAX_TURNS + 1);
	regs.of[UNWIND_RBP] = regs.of[UNWIND_RSP]; /* and never to itself */
	regs.n_turns = 0;
	assert_int_equal(step(rule), UNWIND_END_NOT_ADVANCING);
}

/* The kernel's struct sigcontext, 40 bytes into the ucontext. */
TEST_OF_STEP(all_registers_come_back_from_a_signal)
{
	static const uint32_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 };
	const struct unwind_rule rule = { .how = UNWIND_SIGNAL };

	regs.known = 1 << UNWIND_RSP;
	m.words[4 + 5 + 15] = STACK + 8UL * 40;
	assert_int_equal(step(rule), UNWIND_GOES_ON);
	for (size_t i = 0; i < 15; i++)
		assert_int_equal(regs.of[order[i]], 1000 + 4 + 5 + i);
	assert_int_equal(regs.of[UNWIND_RSP], STACK + 8UL * 40);
	assert_int_equal(regs.pc, 1000 + 4 + 5 + 16);
	assert_int_equal(regs.known, UNWIND_ALL_KNOWN);
	assert_int_equal(regs.is_exact, 1);
	assert_int_equal(m.n_reads, 17);

	/* One whose frame cannot be read, and one that returns to itself. */
	regs.of[UNWIND_RSP] = STACK + 8UL * (N_WORDS - 20);
	assert_int_equal(step(rule), UNWIND_END_UNREADABLE);
	regs.of[UNWIND_RSP] = STACK;
	m.words[5 + 15] = STACK;
	assert_int_equal(step(rule), UNWIND_END_NOT_ADVANCING);
}

TEST_OF_STEP(a_return_address_is_looked_up_where_the_call_is)
{
	assert_int_equal(unwind_look_up_at(&regs), 0x1234);
	regs.is_exact = 0;
	assert_int_equal(unwind_look_up_at(&regs), 0x1233);
}

/* --- code of JIT compilers: by the set-up of its function --- */

#define ALIGNED 0x7f0000000040
#define CODE(bytes) bytes, sizeof(bytes) - 1

static uint64_t word_at(const uint8_t *code)
{
	uint64_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

/* The rule of the set-up whose first @n_before bytes stand before the judged instruction. */
static struct unwind_rule rule_of(uint64_t addr, const char *bytes, size_t n, size_t n_before)
{
	uint8_t code[32];

	memset(code, 0xf4, sizeof(code));
	memcpy(code + 8 - n_before, bytes, n);
	return made_rule(addr, word_at(code), word_at(code + 8),
			 word_at(code + 8 + made_length(word_at(code + 8))));
}

static void expect(struct unwind_rule rule, int kind, int offset, int bp)
{
	assert_int_equal(rule.how & 15, kind);
	assert_int_equal(rule.offset, offset);
	assert_int_equal(rule.fp, bp);
	if (kind == UNWIND_MADE_BARE)
		assert_int_equal(rule.how >> 4, UNWIND_RSP);
}

#define EXPECT_FRAMED(bytes, n_before) \
	expect(rule_of(ALIGNED, CODE(bytes), n_before), UNWIND_MADE_FRAMES, 16, -2)
#define EXPECT_BARE(addr, bytes, n_before, offset, bp) \
	expect(rule_of(addr, CODE(bytes), n_before), UNWIND_MADE_BARE, offset, bp)
#define EXPECT_NONE(addr, bytes, n_before) \
	expect(rule_of(addr, CODE(bytes), n_before), UNWIND_NO_ROW, 0, 0)

TEST(a_function_that_sets_rbp_is_walked_by_it)
{
	EXPECT_FRAMED("\x55\x48\x89\xe5", 1);
	EXPECT_FRAMED("\x55\x48\x8b\xec", 1);                                         /* V8 */
	EXPECT_FRAMED("\x55\x48\x89\xe5\x48\x83\xec\x20", 4);                         /* sub */
	EXPECT_FRAMED("\x55\x48\x83\xec\x20\x48\x8d\x6c\x24\x20", 1);                 /* .NET */
	EXPECT_FRAMED("\x55\x48\x81\xec\x00\x01\0\0\x48\x8d\xac\x24\x00\x01\0\0", 1); /* .NET */
}

TEST(a_function_that_does_not_by_its_room)
{
	/* push %rbp; sub $32, %rsp */
	EXPECT_BARE(ALIGNED + 1, "\x55\x48\x83\xec\x20", 1, 48, -2);
	EXPECT_BARE(ALIGNED + 1, "\x55\x48\x81\xec\x00\x01\0\0", 1, 272, -2);
	/* sub $24, %rsp; mov %rbp, 16(%rsp) */
	EXPECT_BARE(ALIGNED + 1, "\x48\x83\xec\x18\x48\x89\x6c\x24\x10", 0, 32, -2);
	EXPECT_BARE(ALIGNED + 1, "\x48\x81\xec\x18\x01\0\0\x48\x89\xac\x24\x10\x01\0\0", 0, 288,
		    -2);
	EXPECT_BARE(ALIGNED + 1, "\x48\x83\xec\x28\x48\x89\x6c\x24\x10", 0, 48, -4);
}

TEST(a_function_of_monos_begins_at_an_aligned_address)
{
	EXPECT_BARE(ALIGNED, "\x48\x83\xec\x18\x4c\x89\x3c\x24", 0, 32, 0);     /* %r15 */
	EXPECT_BARE(ALIGNED, "\x48\x83\xec\x18\x48\x89\x64\x24\x38", 0, 32, 0); /* %rsp */
	EXPECT_BARE(ALIGNED, "\0\0\0\0\x48\x83\xec\x08\xe8", 4, 16, 0);
	EXPECT_NONE(ALIGNED + 8, "\x48\x83\xec\x18\x4c\x89\x3c\x24", 0);
	EXPECT_NONE(ALIGNED + 8, "\0\0\0\0\x48\x83\xec\x08\xe8", 4);
}

TEST(room_for_values_and_calls_tells_nothing)
{
	/* HotSpot's interpreter */
	EXPECT_NONE(ALIGNED, "\x48\x83\xec\x10\x48\x89\x04\x24", 0);
	EXPECT_NONE(ALIGNED, "\0\0\0\0\x48\x83\xec\x08\xc5\xfa\x11\x04\x24", 4);
	EXPECT_NONE(ALIGNED, "\0\0\0\0\x48\x83\xec\x10\xc5\xfb\x11\x04\x24", 4);
	EXPECT_NONE(ALIGNED, "\0\0\0\0\x48\x83\xec\x08\xf3\x0f\x11\x04\x24", 4);
	EXPECT_NONE(ALIGNED, "\0\0\0\0\x48\x83\xec\x10\xf2\x0f\x11\x04\x24", 4);
	EXPECT_NONE(ALIGNED, "\x0f\x84\x12\0\0\0\x48\x83\xec\x08\xe8", 6);
	/* V8 aligns rsp for a call. */
	EXPECT_NONE(ALIGNED, "\x4c\x8b\xd4\x48\x83\xec\x10\x48\x83\xe4\xf0", 3);
	/* push %r13 is not push %rbp; neither is it room where rsp goes up, or is not aligned. */
	EXPECT_NONE(ALIGNED, "\x41\x55\x48\x83\xec\x20", 2);
	EXPECT_NONE(ALIGNED, "\x55\x48\x83\xec\xf8", 1);
	EXPECT_NONE(ALIGNED, "\x55\x48\x83\xec\x21", 1);
	EXPECT_NONE(ALIGNED, "\x55\x48\x81\xec\0\0\0\x7f", 1);
}

TEST(a_set_up_is_found_across_words)
{
	const uint8_t code[] = { 0x90, 0x90, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x48,
				 0x83, 0xec, 0x20, 0x90, 0x48, 0x83, 0xc4, 0x20 };

	assert_int_equal(made_setups(word_at(code), word_at(code + 8)), 0x8000000000800000);
	assert_int_equal(made_setups(word_at(code), 0), 0x800000);
	assert_int_equal(made_setups(word_at(code + 8), 0), 0); /* add */
	assert_int_equal(code_last(0x8000000000800000), 7);
	assert_int_equal(code_last(0x800000), 2);
	assert_int_equal(code_last(0x80), 0);
}

/* --- searches --- */

/* Rising entries; rules are the entries' numbers. */
struct entries {
	struct unwind_entry *entries;
	uint32_t n;
};

/* As search_entries() of bpf/rule.bpf.h does. */
static uint64_t find_by_chunks(const struct entries *e, uint64_t first, uint64_t n, uint64_t addr)
{
	struct unwind_search s = { first, n };

	for (unsigned step = 0; step < PAGE_CHUNK_STEPS; step++) {
		const uint64_t middle = search_middle_chunk(&s);

		if (!middle)
			break;
		assert_in_range(middle, s.low, s.low + s.n - 1);
		unwind_search_step(&s, middle, e->entries[middle].low, addr);
	}
	assert_int_equal(search_middle_chunk(&s), 0);
	for (unsigned step = 0; step < CHUNK_ENTRY_STEPS && s.n; step++) {
		const uint64_t middle = s.low + s.n / 2;

		unwind_search_step(&s, middle, e->entries[middle].low, addr);
	}
	assert_int_equal(s.n, 0);
	return s.low;
}

/* @n entries @gap apart, from entry @first on. There are none behind, and others before. */
static void check_page(uint32_t first, uint32_t n, uint32_t gap)
{
	struct entries e = { xcalloc(first + n, sizeof(*e.entries)), first + n };

	for (uint32_t i = 0; i < n; i++)
		e.entries[first + i].low = (uint16_t)(gap * i + gap / 2);
	for (uint32_t i = 0; i < first + n; i++)
		e.entries[i].rule = (uint16_t)i;
	for (uint32_t low = 0; low < 65536; low += n < 100 ? 1 : 7) {
		const uint32_t behind = (low + gap - gap / 2) / gap;
		const uint32_t expected = first + (behind < n ? behind : n);
		uint16_t rule;

		assert_true(unwind_find(e.entries, e.n, first, first + n, (uint16_t)low, &rule));
		assert_int_equal(rule, (uint16_t)(expected - 1));
		assert_int_equal(find_by_chunks(&e, first, n, low), expected);
	}
	free(e.entries);
}

TEST(entries_are_found_wherever_they_lie_in_chunks)
{
	static const uint32_t firsts[] = { 1, 512, CHUNK_ENTRIES - 1, CHUNK_ENTRIES,
					   CHUNK_ENTRIES + 1 };
	static const uint32_t sizes[] = {
		0, 1, 2, 3, 10, 1023, 1024, 1025, 2000, 5461, 32768, 65536
	};

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++)
			check_page(firsts[i], sizes[j], sizes[j] < 3 ? 1000 : 65536 / sizes[j]);
}

TEST(a_table_that_lacks_entries_has_no_rule)
{
	struct unwind_entry five[5] = {};
	uint16_t rule;

	assert_false(unwind_find(five, 5, 1, 4000, 17, &rule));
	assert_false(unwind_find(five, 5, 0, 0, 17, &rule));
	assert_false(unwind_find(five, 5, UINT32_MAX, 3, 17, &rule));
	assert_true(unwind_find(five, 5, 5, 5, 17, &rule));
	assert_false(unwind_find(five, 5, 6, 6, 17, &rule));
}

TEST_MAIN(NULL, NULL)
