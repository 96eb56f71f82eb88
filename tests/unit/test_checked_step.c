// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rooms: base */
/* Calls, and a function's first and last instructions, are recognized in code without rows. */
#include "test.h"

#include "bpf/frame.h"

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

TEST_MAIN(NULL, NULL)
