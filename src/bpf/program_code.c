// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/program_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static void move_functions(struct program_code *code, const uint32_t *new_at)
{
	size_t n = 0;

	for (size_t i = 0; i < code->n_functions; i++) {
		const bool is_last = i + 1 == code->n_functions;
		const size_t end = is_last ? code->n : code->functions[i + 1].insn_off;
		const uint32_t at = new_at[code->functions[i].insn_off];

		if (at == new_at[end])
			continue;
		code->functions[n] = code->functions[i];
		code->functions[n++].insn_off = at;
	}
	code->n_functions = n;
}

static void move_instruction(struct program_code *code, size_t i, const uint32_t *new_at)
{
	struct bpf_insn insn = code->insns[i];
	const size_t to = insn_target(&insn, i);

	if (insn_is_jump(&insn))
		insn.off = (int16_t)(new_at[to] - new_at[i] - 1);
	else if (insn_has_function(&insn))
		insn.imm = (int)(new_at[to] - new_at[i] - 1);
	code->insns[new_at[i]] = insn;
	if (insn_is_wide(&insn))
		code->insns[new_at[i] + 1] = code->insns[i + 1];
}

void program_code_keep(struct program_code *code, const bool *stays)
{
	cleanup_free uint32_t *new_at = xcalloc(code->n + 1, sizeof(*new_at));
	uint32_t n = 0;

	for (size_t i = 0; i < code->n; i++) {
		new_at[i] = n;
		n += stays[i];
	}
	new_at[code->n] = n;
	for (size_t i = 0; i < code->n; i++) {
		const bool has_two = insn_is_wide(&code->insns[i]);

		if (stays[i])
			move_instruction(code, i, new_at);
		i += has_two;
	}
	move_functions(code, new_at);
	code->n = n;
}

/* Where instruction @i is when @grown more stand before @end. */
static size_t place_after(size_t i, size_t end, ptrdiff_t grown)
{
	return i < end ? i : i + (size_t)grown;
}

void program_code_replace(struct program_code *code, size_t function, const struct bpf_insn *body,
			  size_t n)
{
	const bool is_last = function + 1 == code->n_functions;
	const size_t begin = code->functions[function].insn_off;
	const size_t end = is_last ? code->n : code->functions[function + 1].insn_off;
	const ptrdiff_t grown = (ptrdiff_t)n - (ptrdiff_t)(end - begin);
	struct bpf_insn *insns = xcalloc(code->n + (size_t)grown, sizeof(*insns));

	for (size_t i = 0; i < code->n; i++) {
		struct bpf_insn insn = code->insns[i];
		const size_t to = place_after(i, end, grown);
		const bool has_two = insn_is_wide(&insn);

		if (i >= begin && i < end)
			continue;
		if (insn_has_function(&insn))
			insn.imm = (int)(place_after(insn_target(&insn, i), end, grown) - to - 1);
		insns[to] = insn;
		if (has_two)
			insns[to + 1] = code->insns[++i];
	}
	memcpy(insns + begin, body, n * sizeof(*body));
	for (size_t i = 0; i < code->n_functions; i++)
		code->functions[i].insn_off =
			(uint32_t)place_after(code->functions[i].insn_off, end, grown);
	free(code->insns);
	code->insns = insns;
	code->n += (size_t)grown;
}
