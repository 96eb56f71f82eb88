/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/program_code.h - the instructions of one BPF program, before it is loaded. They are those of
 * -mcpu=v3, so no jump has its distance in .imm.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program as the kernel takes it, with the places of its functions. Both lists may shrink. */
struct program_code {
	struct bpf_insn *insns;
	size_t n;
	struct bpf_func_info *functions; /* in the order of their instructions */
	size_t n_functions;
};

/* Does @insn have a second half, which is no instruction of its own? */
static inline bool insn_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* A jump in a function, with or without a condition. */
static inline bool insn_is_jump(const struct bpf_insn *insn)
{
	const unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static inline bool insn_is_always_jump(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA);
}

/* Does @insn call, or take the address of, a function of its own program? */
static inline bool insn_has_function(const struct bpf_insn *insn)
{
	return (insn_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC) ||
	       (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL);
}

/* The instruction that a jump at @i leads to, or the function of insn_has_function(). */
static inline size_t insn_target(const struct bpf_insn *insn, size_t i)
{
	return i + 1 + (size_t)(int64_t)(insn_is_jump(insn) ? insn->off : insn->imm);
}

/*
 * Remove the instructions @i whose @stays[@i] is false, and functions that have none left. Both
 * halves of a wide instruction must have the same value. A jump or call to a removed instruction
 * leads to the next one that stays.
 */
void program_code_keep(struct program_code *code, const bool *stays);

/*
 * Replace function number @function by the @n instructions of @body. @code->insns must come from
 * the heap; it may move.
 */
void program_code_replace(struct program_code *code, size_t function, const struct bpf_insn *body,
			  size_t n);
