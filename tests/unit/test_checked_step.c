// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rooms: base */
/* Calls are recognized, for steps from code without rows. */
#include "test.h"

#include "bpf/user_step.h"

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

TEST_MAIN(NULL, NULL)
