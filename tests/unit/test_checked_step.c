// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rooms: base */
/* Checks of a step by frame pointer on the instructions. */
#include "test.h"

#include "bpf/checked.h"

static uint64_t word_of(const char *bytes, size_t n)
{
	uint64_t word = 0;

	memcpy(&word, bytes, n);
	return word;
}

/* The 8 bytes that end with @n @bytes. */
static uint64_t ending(const char *bytes, size_t n)
{
	char all[8] = {};

	memcpy(all + sizeof(all) - n, bytes, n);
	return word_of(all, sizeof(all));
}

#define ENDING(bytes) ending(bytes, sizeof(bytes) - 1)
#define WORD(bytes) word_of(bytes, sizeof(bytes) - 1)

TEST(every_form_of_a_call_is_one)
{
	const struct {
		uint64_t bytes;
		bool is_call;
	} rows[] = {
		{ ENDING("\xe8\x01\x02\x03\x04"), true },         /* call rel32 */
		{ ENDING("\xff\xd0"), true },                     /* call *%rax */
		{ ENDING("\x41\xff\xd4"), true },                 /* call *%r12 */
		{ ENDING("\xff\x50\x10"), true },                 /* call *16(%rax) */
		{ ENDING("\xff\x14\xc2"), true },                 /* call *(%rdx,%rax,8) */
		{ ENDING("\xff\x54\x24\x08"), true },             /* call *8(%rsp) */
		{ ENDING("\xff\x15\x01\x02\x03\x04"), true },     /* call *place(%rip) */
		{ ENDING("\xff\x94\xc2\x01\x02\x03\x04"), true }, /* call *n(%rdx,%rax,8) */
		{ ENDING("\xff\xe0"), false },                    /* jmp *%rax */
		{ ENDING("\xc3"), false },
		{ ENDING("\x90\x90\x90\x90\x90\x90\x90\x90"), false },
		{ 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(code_may_be_call(rows[i].bytes), rows[i].is_call);
}

TEST(a_direct_call_says_what_is_called)
{
	assert_int_equal(code_called(0x1000, ENDING("\xe8\x10\x00\x00\x00")), 0x1010);
	assert_int_equal(code_called(0x1000, ENDING("\xe8\xf0\xff\xff\xff")), 0xff0);
	assert_int_equal(code_called(0x1000, ENDING("\xff\xd0")), 0);
}

TEST(what_a_function_may_end_with)
{
	const struct {
		uint64_t word, next, ends;
	} rows[] = {
		{ WORD("\x48\x89\xd8\x5b\xc3"), 0, 0x80ULL << 32 },    /* pop %rbx; ret */
		{ WORD("\x48\x89\xc3"), 0, 0 },                        /* mov %rax, %rbx */
		{ WORD("\x83\xc3\x01"), 0, 0 },                        /* add $1, %ebx */
		{ WORD("\xe9\x01\x02\x03\x04"), 0, 0x80 },             /* jmp */
		{ WORD("\xeb\x01"), 0, 0x80 },                         /* jmp */
		{ WORD("\xff\xe0"), 0, 0x80 },                         /* jmp *%rax */
		{ WORD("\xff\xd0"), 0, 0 },                            /* call *%rax */
		{ 0xffULL << 56, 0xe0, 0x80ULL << 56 },                /* jmp *%rax */
		{ 0xffULL << 56, 0xd0, 0 },                            /* call *%rax */
		{ 0x0fULL << 56, 0x0b, 0x80ULL << 56 },                /* ud2 */
		{ WORD("\x66\x0f\x1f\x44\x00\x00"), 0, 0x80ULL << 8 }, /* nop */
		{ WORD("\xcc\xf4\x90"), 0, 0x808080 },                 /* int3; hlt; nop */
		{ WORD("\xe8\x01\x02\x03\x04\x74\x05\x48"), 0, 0 },    /* call; je */
		{ WORD("\x0f\x84\x01\x02\x03\x04"), 0, 0 },            /* je */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(code_ends(rows[i].word, rows[i].next), rows[i].ends);
}

TEST(a_frame_is_found_wherever_it_is_made)
{
	for (size_t at = 0; at < 8; at++) {
		uint64_t words[3] = {};

		memcpy((char *)words + at, "\x55\x48\x89\xe5", 4);
		assert_int_equal(code_frames(words[0], words[1]), 0x80ULL << at * 8);
		assert_int_equal(code_ends(words[0], words[1]), 0);
		((char *)words)[at + 1]++;
		assert_int_equal(code_frames(words[0], words[1]), 0);
	}
}

TEST(a_function_makes_its_frame_soon)
{
	assert_true(code_is_frame_of(8, 1));
	assert_true(code_is_frame_of(12, 1)); /* endbr64 goes before it */
	assert_true(code_is_frame_of(80, 16));
	assert_false(code_is_frame_of(64, 16));
	assert_false(code_is_frame_of(24, 1)); /* behind it */
}

static void expect_edge(const char *bytes, size_t n, int offset, int bp)
{
	const struct unwind_rule rule = code_edge_rule(word_of(bytes, n));

	assert_int_equal(rule.how, offset ? UNWIND_HOW(UNWIND_IS, UNWIND_RSP) : UNWIND_NO_ROW);
	assert_int_equal(rule.offset, offset);
	assert_int_equal(rule.fp, bp);
}

#define EDGE(bytes, offset, bp) expect_edge(bytes, sizeof(bytes) - 1, offset, bp)

/* The first byte is the one before the pc. */
TEST(at_a_functions_edges_instructions_tell)
{
	EDGE("\x05\xc3", 8, 0);                         /* ret */
	EDGE("\x05\xf3\xc3", 8, 0);                     /* rep ret */
	EDGE("\xcc\x55\x48\x89\xe5", 8, 0);             /* push %rbp; mov %rsp, %rbp */
	EDGE("\xcc\xf3\x0f\x1e\xfa\x55\x48\x89", 8, 0); /* endbr64; the same */
	EDGE("\x55\x48\x89\xe5", 16, -2);               /* mov %rsp, %rbp, behind the push */
	EDGE("\x05\x5d\xc3", 16, -2);                   /* pop %rbp; ret */
	EDGE("\xe5\x48\x83\xec\x10", 0, 0);             /* behind it all */
	EDGE("\x05\x5d\x5b", 0, 0);
}

TEST(what_cannot_be_a_return_address)
{
	const uint64_t sp = 0x7ffe00001000;

	assert_true(code_is_address(0x401000, sp));
	assert_true(code_is_address(0x7f0000401000, sp));
	assert_true(code_is_address(sp - 8, sp));
	assert_false(code_is_address(sp + 64, sp));
	assert_false(code_is_address(0, sp));
	assert_false(code_is_address(4095, sp));
	assert_false(code_is_address(1ULL << 47, sp));
	assert_false(code_is_address(~0ULL, sp));
}

TEST_MAIN(NULL, NULL)
