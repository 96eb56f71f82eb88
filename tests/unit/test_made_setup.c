// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rooms: base */
/* By which rule a caller is found from a JIT compiler's code: by the set-up of its function. */
#include "test.h"

#include "bpf/user_step.h"

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

struct stack {
	uint64_t at;
	uint64_t words[8];
};

static bool read_stack(void *from, __u64 at, __u64 *ret)
{
	const struct stack *s = from;

	if (at < s->at || at - s->at >= sizeof(s->words))
		return false;
	*ret = s->words[(at - s->at) / 8];
	return true;
}

TEST(such_a_step_never_ends_a_stack_as_the_root)
{
	struct stack s = { .at = 0x7ffc0000, .words = { [2] = 0x1111, [3] = 0x401234 } };
	struct unwind_regs regs = { .known = UNWIND_ALL_KNOWN };

	regs.of[UNWIND_RSP] = s.at;
	assert_int_equal(unwind_step(&regs, made_bare(32, -2), read_stack, &s), UNWIND_GOES_ON);
	assert_int_equal(regs.pc, 0x401234);
	assert_int_equal(regs.of[UNWIND_RBP], 0x1111);
	assert_int_equal(regs.of[UNWIND_RSP], s.at + 32);
	assert_int_equal(unwind_step(&regs, made_bare(32, 0), read_stack, &s), UNWIND_END_CHAIN);
}

TEST_MAIN(NULL, NULL)
