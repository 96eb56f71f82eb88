/* rooms: attach base match */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The code of values, run by this machine's kernel, against the same calculation in C. */
#include "test.h"

#include <linux/bpf.h>

#include "attach/syscall.h"
#include "attach/value_code.h"

#define NO_VALUE 1

/* The context of the test's programs: the kernel lets them read these words. */
static uint64_t words[4];

static int value_map(void)
{
	const union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1
	};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* Run the code with @number, with @words as its context. Returns its result, and *@ret. */
static uint32_t run_value(const struct value_code *value, uint32_t number, int64_t *ret)
{
	cleanup(cleanup_close_fd) int map = value_map(), fd = -1;
	const struct bpf_insn before[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_VALUE, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOVE_IMM(3, (int)number),
		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1),
		EXIT,
	};
	struct bpf_insn insns[4096];
	const uint32_t key = 0;
	union bpf_attr attr = {};

	assert_true(value->n + ARRAY_SIZE(before) <= ARRAY_SIZE(insns));
	memcpy(insns, before, sizeof(before));
	memcpy(insns + ARRAY_SIZE(before), value->insns, value->n * sizeof(*insns));
	fd = instructions_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, insns,
			       (unsigned)(ARRAY_SIZE(before) + value->n));
	assert_true(fd >= 0);
	attr.test.prog_fd = (unsigned)fd;
	attr.test.ctx_in = (uintptr_t)words;
	attr.test.ctx_size_in = sizeof(words);
	assert_int_equal(sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)), 0);

	union bpf_attr look = { .map_fd = (unsigned)map,
				.key = (uintptr_t)&key,
				.value = (uintptr_t)ret };

	assert_int_equal(sys_bpf(BPF_MAP_LOOKUP_ELEM, &look, sizeof(look)), 0);
	return attr.test.retval;
}

/* --- the same in C --- */

struct number {
	uint64_t value;
	bool is_unsigned; /* of 64 bits */
};

static uint64_t extended(uint64_t value, struct value_type type)
{
	const unsigned shift = 64U - 8U * type.bytes;

	return type.is_signed ? (uint64_t)((int64_t)(value << shift) >> shift)
			      : value << shift >> shift;
}

static uint64_t divided(uint64_t a, uint64_t b, bool is_unsigned, bool is_modulo)
{
	const int64_t sa = (int64_t)a, sb = (int64_t)b;

	if (b == 0)
		return is_modulo ? a : 0;
	if (is_unsigned)
		return is_modulo ? a % b : a / b;
	if (sb == -1)
		return is_modulo ? 0 : -a;
	return (uint64_t)(is_modulo ? sa % sb : sa / sb);
}

static struct number calculated(enum expression_op op, struct number a, struct number b)
{
	const bool is_unsigned = a.is_unsigned || b.is_unsigned;

	switch (op) {
	case EXPRESSION_MULTIPLY:
		return (struct number){ a.value * b.value, is_unsigned };
	case EXPRESSION_DIVIDE:
	case EXPRESSION_MODULO:
		return (struct number){
			divided(a.value, b.value, is_unsigned, op == EXPRESSION_MODULO), is_unsigned
		};
	case EXPRESSION_ADD:
		return (struct number){ a.value + b.value, is_unsigned };
	case EXPRESSION_SUBTRACT:
		return (struct number){ a.value - b.value, is_unsigned };
	case EXPRESSION_SHIFT_LEFT:
		return (struct number){ a.value << (b.value & 63), a.is_unsigned };
	case EXPRESSION_SHIFT_RIGHT:
		return (struct number){ a.is_unsigned
						? a.value >> (b.value & 63)
						: (uint64_t)((int64_t)a.value >> (b.value & 63)),
					a.is_unsigned };
	case EXPRESSION_AND:
		return (struct number){ a.value & b.value, is_unsigned };
	case EXPRESSION_XOR:
		return (struct number){ a.value ^ b.value, is_unsigned };
	default:
		return (struct number){ a.value | b.value, is_unsigned };
	}
}

static struct number leaf_value(const struct expression_node *node)
{
	uint64_t value = (uint64_t)node->number;

	if (node->op == EXPRESSION_CONTEXT)
		memcpy(&value, (const char *)words + node->number, sizeof(value));
	return (struct number){ extended(value, node->type),
				node->type.bytes == 8 && !node->type.is_signed };
}

static int64_t expected_value(const struct expression *x)
{
	struct number stack[EXPRESSION_MOST_NODES];
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct expression_node *node = &x->nodes[i];
		struct number *top = n ? &stack[n - 1] : NULL;

		switch (node->op) {
		case EXPRESSION_NUMBER:
		case EXPRESSION_CONTEXT:
			stack[n++] = leaf_value(node);
			break;
		case EXPRESSION_CAST:
			*top = (struct number){ extended(top->value, node->type),
						node->type.bytes == 8 && !node->type.is_signed };
			break;
		case EXPRESSION_NEGATE:
			top->value = -top->value;
			break;
		case EXPRESSION_INVERT:
			top->value = ~top->value;
			break;
		default:
			stack[n - 2] = calculated((enum expression_op)node->op, stack[n - 2], *top);
			n--;
		}
	}
	assert_int_equal(n, 1);
	return (int64_t)stack[0].value;
}

/* --- expressions --- */

/* a to d are the words, as types that differ. */
static const struct value_type types[4] = { { 8, true }, { 8, false }, { 4, true }, { 2, false } };

static void parse_with_places(const char *text, struct expression *ret)
{
	struct error e = {};

	if (expression_parse(text, ret, &e))
		fail_msg("'%s' was refused: %s", text, e.text);
	for (size_t i = 0; i < ret->n; i++) {
		struct expression_node *node = &ret->nodes[i];
		const int word = text[node->at] - 'a';

		if (node->op != EXPRESSION_NAME)
			continue;
		node->op = EXPRESSION_CONTEXT;
		node->number = 8 * word;
		node->type = types[word];
	}
}

static void check_value(const char *text)
{
	struct expression x;
	cleanup(value_code_fini) struct value_code code;
	int64_t value = 0;

	parse_with_places(text, &x);
	assert_int_equal(value_code_make(&x, 1, false, &code, NULL), 0);
	assert_int_equal(run_value(&code, 0, &value), 0);
	if (value != expected_value(&x))
		fail_msg("'%s' is %lld, not %lld", text, (long long)value,
			 (long long)expected_value(&x));
}

static void set_words(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	words[0] = a;
	words[1] = b;
	words[2] = c;
	words[3] = d;
}

TEST(each_operation_is_that_of_c)
{
	/* clang-format off */
	static const char *const texts[] = {
		"a", "b", "c", "d", "-c", "~d", "a / c", "a % c", "c / a", "b / c", "b % c",
		"d / a", "a / 0", "a % 0", "b / 0", "b % 0", "c * d", "a - b", "a >> 3", "b >> 3",
		"c >> 1", "a << 65", "1 << c", "a >> b", "a & d", "a ^ c", "b | c", "(u8)a",
		"(s8)b", "(int)b", "(u64)c", "(s16)-d", "(u32)c", "-0x123456789", "(u64)c / 3",
		"(u64)c >> 60", "(s64)b / 3", "c / -1", "a / -1", "18446744073709551615 / 2",
		"((a+b)*(c-d))/((a&7)|1)", "-(~(a<<3)%(b+1))>>(c&63)", "(s16)((u64)(a^b)/(d|1))-(int)c",
		"((((a*b)/3)%(c+4294967296))<<1)+((((d-a)|1)>>2)&~b)", "a-(b-(c-(d-(a*(b/(c%(d+1)))))))",
	};
	/* clang-format on */
	static const uint64_t numbers[][4] = {
		{ 100, 7, 3, 5 },
		{ (uint64_t)-100, (uint64_t)-7, (uint32_t)-3, 0xffff },
		{ (uint64_t)INT64_MIN, UINT64_MAX, UINT32_MAX, 0 },
		{ 0, 0, 0, 0 },
		{ 0xdeadbeefcafebabe, 0x8000000000000001, 0x80000000, 0x8001 },
	};

	for (size_t k = 0; k < ARRAY_SIZE(numbers); k++) {
		set_words(numbers[k][0], numbers[k][1], numbers[k][2], numbers[k][3]);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			check_value(texts[i]);
	}
}

TEST(the_number_chooses_the_expression)
{
	struct expression of[VALUES_MOST];
	cleanup(value_code_fini) struct value_code code;

	set_words(11, 22, 33, 44);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		parse_with_places("a", &of[i]);
		of[i].nodes[0] = (struct expression_node){ .op = EXPRESSION_NUMBER,
							   .number = 1000 + (int64_t)i,
							   .type = { 8, true } };
	}
	assert_int_equal(value_code_make(of, ARRAY_SIZE(of), false, &code, NULL), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(of); i += 51) {
		int64_t value = 0;

		assert_int_equal(run_value(&code, i, &value), 0);
		assert_int_equal(value, 1000 + i);
	}
}

/* Values of single events are shown with their own sign. */
TEST(the_code_knows_whether_its_values_have_a_sign)
{
	static const struct {
		const char *text;
		bool is_unsigned;
	} rows[] = {
		{ "a", true },  { "b", false },    { "(int)a", false }, { "a + b", true },
		{ "-a", true }, { "c", false },    { "(u64)b", true },  { "b >> a", false },
		{ "7", false }, { "a & 7", true },
	};
	static const struct value_type words_of[] = { { 8, false }, { 8, true }, { 4, false } };
	struct expression of[2];
	struct value_code code;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		parse_with_places(rows[i].text, &of[0]);
		for (size_t n = 0; n < of[0].n; n++)
			if (of[0].nodes[n].op == EXPRESSION_CONTEXT)
				of[0].nodes[n].type = words_of[of[0].nodes[n].number / 8 % 3];
		assert_int_equal(value_code_make(of, 1, false, &code, NULL), 0);
		assert_int_equal(code.is_unsigned, rows[i].is_unsigned);
		value_code_fini(&code);
	}
	for (int i = 0; i < 2; i++) {
		parse_with_places("a", &of[i]);
		of[i].nodes[0].type = words_of[i];
	}
	assert_int_equal(value_code_make(of, 2, false, &code, NULL), 0);
	assert_false(code.is_unsigned);
	value_code_fini(&code);
}

TEST(too_much_code_is_refused)
{
	static struct expression of[VALUES_MOST];
	cleanup(value_code_fini) struct value_code code;
	char text[256] = "a";

	while (strlen(text) < 110)
		strcat(text, "/c%a");
	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		parse_with_places(text, &of[i]);
	assert_int_equal(value_code_make(of, ARRAY_SIZE(of), true, &code, NULL), -E2BIG);
}

/* With the others, and with code behind it. */
TEST(what_is_unknown_or_unreadable_is_no_value)
{
	struct expression of[3];
	cleanup(value_code_fini) struct value_code code;
	int64_t value;

	set_words(4096, 0, 0, 0); /* nothing is mapped there */
	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		parse_with_places("a / d + 1", &of[i]);
	of[1].nodes[1] = (struct expression_node){ .op = EXPRESSION_UNKNOWN, .type = { 8, true } };
	of[2].nodes[1] = (struct expression_node){
		.op = EXPRESSION_KERNEL_MEMORY, .base = 0, .number = 8, .type = { 8, true }
	};
	assert_int_equal(value_code_make(of, ARRAY_SIZE(of), false, &code, NULL), 0);
	assert_int_equal(run_value(&code, 0, &value), 0);
	assert_int_equal(run_value(&code, 1, &value), NO_VALUE);
	assert_int_equal(run_value(&code, 2, &value), NO_VALUE);
}

TEST_MAIN(NULL, NULL)
