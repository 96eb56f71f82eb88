// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/unused_code.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#define ARGUMENTS 0x3e    /* R1 to R5 */
#define SET_BY_CALLS 0x3f /* R0 to R5 */

/* The registers that an instruction reads and sets, as bit masks. */
struct effect {
	uint16_t reads, sets;
	bool is_only_that; /* it does nothing else */
};

static uint16_t source_of(const struct bpf_insn *insn)
{
	return BPF_SRC(insn->code) == BPF_X ? (uint16_t)(1U << insn->src_reg) : 0;
}

static struct effect effect_of_jump(const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_CALL:
		return (struct effect){ ARGUMENTS, SET_BY_CALLS, false };
	case BPF_EXIT:
		return (struct effect){ 1U << BPF_REG_0, 0, false };
	case BPF_JA:
		return (struct effect){};
	default:
		return (struct effect){ (uint16_t)(source_of(insn) | 1U << insn->dst_reg), 0,
					false };
	}
}

static struct effect effect_of(const struct bpf_insn *insn)
{
	const uint16_t dst = (uint16_t)(1U << insn->dst_reg), src = (uint16_t)(1U << insn->src_reg);

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return (struct effect){ 0, dst, true };
	case BPF_LDX:
		return (struct effect){ src, dst, true };
	case BPF_ALU:
	case BPF_ALU64:
		return (struct effect){ BPF_OP(insn->code) == BPF_MOV ? source_of(insn)
								      : source_of(insn) | dst,
					dst, true };
	case BPF_JMP:
	case BPF_JMP32:
		return effect_of_jump(insn);
	case BPF_ST:
		return (struct effect){ dst, 0, false };
	default:
		return (struct effect){ dst | src | 1U << BPF_REG_0, 0, false }; /* BPF_STX */
	}
}

/*
 * The registers that code reads after instruction @i. @before: those that it reads from each
 * instruction on, as far as they are known.
 */
static uint16_t read_after(const struct program_code *code, const uint16_t *before, size_t i)
{
	const struct bpf_insn *insn = &code->insns[i];
	const size_t next = i + 1 + insn_is_wide(insn);
	uint16_t after = 0;

	if (insn->code == (BPF_JMP | BPF_EXIT))
		return 0;
	if (insn_is_jump(insn))
		after = before[insn_target(insn, i)];
	if (!insn_is_always_jump(insn) && next < code->n)
		after |= before[next];
	return after;
}

/* Update @before and @stays once, from the last to the first. Returns whether @before changed. */
static bool pass_back(const struct program_code *code, const bool *is_second, uint16_t *before,
		      bool *stays)
{
	bool must_repeat = false;

	for (size_t i = code->n; i-- > 0;) {
		if (is_second[i])
			continue;

		const struct effect effect = effect_of(&code->insns[i]);
		const uint16_t after = read_after(code, before, i);
		uint16_t reads = after;

		stays[i] = !effect.is_only_that || after & effect.sets;
		if (stays[i])
			reads = (uint16_t)((after & ~effect.sets) | effect.reads);
		must_repeat |= before[i] != reads;
		before[i] = reads;
		if (insn_is_wide(&code->insns[i]))
			stays[i + 1] = stays[i];
	}
	return must_repeat;
}

void unused_code_remove(struct program_code *code)
{
	cleanup_free uint16_t *before = xcalloc(code->n, sizeof(*before));
	cleanup_free bool *is_second = xcalloc(code->n, sizeof(*is_second));
	cleanup_free bool *stays = xcalloc(code->n, sizeof(*stays));

	for (size_t i = 0; i + 1 < code->n; i++)
		if (insn_is_wide(&code->insns[i]))
			is_second[++i] = true;
	while (pass_back(code, is_second, before, stays))
		;
	program_code_keep(code, stays);
}
