// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text either is an expression, whose nodes leave one value and from which code can be made, or
 * is refused with words. All its names are taken for places.
 */
#include "fuzz.h"

#include "attach/value_code.h"
#include "match/expression.h"

static void check_node(const struct expression *x, const struct expression_node *node)
{
	require(node->op < EXPRESSION_OPS);
	require(node->at <= strlen(x->text) && node->length <= strlen(x->text) - node->at);
	require(node->op != EXPRESSION_NAME || node->length);
	require(node->op != EXPRESSION_CAST || node->type.bytes);
	require(node->op != EXPRESSION_ARGUMENT ||
		(node->number >= 1 && node->number <= EXPRESSION_MOST_ARGUMENTS));
}

/* The stack of values never runs empty, nor over. */
static void check_depth(const struct expression *x)
{
	size_t depth = 0;

	for (size_t i = 0; i < x->n; i++) {
		const size_t n = expression_operands((enum expression_op)x->nodes[i].op);

		check_node(x, &x->nodes[i]);
		require(depth >= n);
		depth += 1 - n;
		require(depth <= EXPRESSION_MOST_DEPTH);
	}
	require(depth == 1);
}

/* Of places that a load reads, those that a helper reads, and those that are not known. */
static void put_places(struct expression *x)
{
	static const enum expression_op places[] = { EXPRESSION_CONTEXT, EXPRESSION_USER_MEMORY,
						     EXPRESSION_KERNEL_MEMORY, EXPRESSION_UNKNOWN };

	for (size_t i = 0; i < x->n; i++) {
		struct expression_node *node = &x->nodes[i];

		if (node->op > EXPRESSION_RETVAL || node->op == EXPRESSION_NUMBER)
			continue;
		node->op = places[(unsigned char)x->text[node->at] % 4];
		node->number = node->at;
		node->type =
			(struct value_type){ (uint8_t)(1U << node->length % 4), node->length % 2 };
	}
}

static void check_code(const struct value_code *code)
{
	require(code->n && code->insns[code->n - 1].code == (BPF_JMP | BPF_EXIT));
	for (size_t i = 0; i < code->n; i++) {
		const struct bpf_insn *insn = &code->insns[i];
		const unsigned op = BPF_OP(insn->code);

		if (BPF_CLASS(insn->code) == BPF_JMP && op != BPF_CALL && op != BPF_EXIT)
			require(i + 1 + (size_t)insn->off < code->n);
		i += insn->code == (BPF_LD | BPF_IMM | BPF_DW);
	}
}

static void fuzz_expression(const char *text)
{
	struct expression x[2];
	struct value_code code;
	struct error e = {};

	if (expression_parse(text, &x[0], &e) != 0) {
		require(e.code == -EINVAL && e.text[0] && e.text[0] != '\n');
		return;
	}
	check_depth(&x[0]);
	put_places(&x[0]);
	x[1] = x[0];
	require(value_code_make(x, 2, text[0] % 2, &code, &e) == 0);
	check_code(&code);
	value_code_fini(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	fuzz_expression(text);
	free(text);
	return 0;
}
