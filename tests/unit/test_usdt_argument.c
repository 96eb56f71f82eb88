/* rooms: match kernel arch base elf unwind files */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test.h"

#include "match/values.h"

/* "s32 context 80", "u64 memory 120 + -8" or why the argument is not known. */
static void describe(const struct usdt_argument *a, char *to, size_t size)
{
	const struct expression_node *node = &a->node;

	if (a->unknown)
		(void)snprintf(to, size, "%s", a->unknown);
	else if (node->op == EXPRESSION_USER_MEMORY)
		(void)snprintf(to, size, "%c%d memory %u + %lld", node->type.is_signed ? 's' : 'u',
			       8 * node->type.bytes, node->base, (long long)node->number);
	else
		(void)snprintf(to, size, "%c%d %s %lld", node->type.is_signed ? 's' : 'u',
			       8 * node->type.bytes,
			       node->op == EXPRESSION_NUMBER ? "number" : "context",
			       (long long)node->number);
}

static const char form[] = "its place has another form", sizes[] = "its size is not known";

/* On x86-64; test_aarch64.c has the other one's. The registers' places: struct pt_regs. */
static const struct {
	const char *text, *is;
} rows[] = {
#if defined(__x86_64__)
	{ "8@%rdi", "u64 context 112" },
	{ "-4@%edi", "s32 context 112" },
	{ "2@%bx", "u16 context 40" },
	{ "1@%al", "u8 context 80" },
	{ "1@%ah", "u8 context 81" },
	{ "1@%sil", "u8 context 104" },
	{ "-4@%r8d", "s32 context 72" },
	{ "8@%r15", "u64 context 0" },
	{ "1@%r10b", "u8 context 56" },
	{ "2@%r9w", "u16 context 64" },
	{ "4@%rax", "u32 context 80" },
	{ "8@%rbx", "u64 context 40" },
	{ "8@%rcx", "u64 context 88" },
	{ "8@%rdx", "u64 context 96" },
	{ "8@%rsi", "u64 context 104" },
	{ "8@%rbp", "u64 context 32" },
	{ "8@%rsp", "u64 context 152" },
	{ "8@%r8", "u64 context 72" },
	{ "8@%r9", "u64 context 64" },
	{ "8@%r10", "u64 context 56" },
	{ "8@%r11", "u64 context 48" },
	{ "8@%r12", "u64 context 24" },
	{ "8@%r13", "u64 context 16" },
	{ "8@%r14", "u64 context 8" },
	{ "4@$5", "u32 number 5" },
	{ "-4@$-5", "s32 number -5" },
	{ "1@$-1", "u8 number 255" },
	{ "8@$0xffffffffffffffff", "u64 number -1" },
	{ "-4@-12(%rbp)", "s32 memory 32 + -12" },
	{ "8@(%rsp)", "u64 memory 152 + 0" },
	{ "8@0x10(%r12)", "u64 memory 24 + 16" },
	{ "8@8(%rdx,%rcx,4)", form },
	{ "4@x(%rip)", form },
	{ "4@4(%rip)", form },
	{ "4@x", form },
	{ "4@0x601040", form },
	{ "4@(%edx)", form },
	{ "4@(,%rdx,8)", form },
	{ "4@(%rdx", form },
	{ "4@(%rdx)x", form },
	{ "4@4294967296(%rdx)", form },
	{ "4@%r16", form },
	{ "4@%r7", form },
	{ "4@%r8x", form },
	{ "4@%r8dd", form },
	{ "4@%xmm0", form },
	{ "4@%", form },
	{ "4@$", form },
	{ "4@$x", form },
	{ "4@$5x", form },
	{ "4@$99999999999999999999", form },
#endif
	{ "8f@x", "it is a floating-point number" },
	{ "-8f@x", "it is a floating-point number" },
	{ "3@x", sizes },
	{ "16@x", sizes },
	{ "@x", sizes },
	{ "-@x", sizes },
	{ "x", sizes },
	{ "4@", form },
	{ "4@ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	  "its place is too long a text" },
};

TEST(arguments_have_places)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *at = rows[i].text;
		struct usdt_argument argument;
		char is[128];

		assert_true(usdt_argument_next(&at, &argument));
		describe(&argument, is, sizeof(is));
		if (strcmp(is, rows[i].is) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].text, is, rows[i].is);
		assert_false(usdt_argument_next(&at, &argument));
	}
}

TEST(blanks_are_between_arguments)
{
	static const struct {
		const char *text;
		size_t n;
	} lists[] = { { "", 0 },
		      { "  ", 0 },
		      { "4@a 4@b", 2 },
		      { " 4@a  4@b ", 2 },
		      { "4@[a, 1] 4@[b]", 2 },
		      { "4@[a 4@b", 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *at = lists[i].text;
		struct usdt_argument argument;
		size_t n = 0;

		while (usdt_argument_next(&at, &argument))
			n++;
		assert_int_equal(n, lists[i].n);
	}
}

TEST_MAIN(NULL, NULL)
