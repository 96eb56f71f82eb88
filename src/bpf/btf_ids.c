// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/btf_ids.h"

#include "bpf/abi.h"
#include "bpf/instructions.h"

static void put_variable(struct bpf_insn *insn, uint32_t id)
{
	insn[0].src_reg = BPF_PSEUDO_BTF_ID;
	insn[0].imm = (int)id;
	insn[1].imm = 0; /* in the kernel's own BTF, not a module's */
}

static void put_call(struct bpf_insn *insn, uint32_t id)
{
	const struct bpf_insn call = INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int)id);
	const struct bpf_insn no_call = MOVE_IMM(BPF_REG_0, 0);

	*insn = id ? call : no_call;
}

void btf_ids_put(const struct btf_ids *ids, struct bpf_insn *insns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bpf_insn *insn = &insns[i];

		if (insn->src_reg)
			continue;
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->imm == PREEMPT_COUNT_ID &&
		    ids->preempt_count && i + 1 < n)
			put_variable(insn, ids->preempt_count);
		else if (insn->code == (BPF_JMP | BPF_CALL) && insn->imm == CAST_CALL)
			put_call(insn, ids->cast_call);
		else if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_K) && insn->imm == CAST_TYPE)
			insn->imm = (int)ids->cast_type;
	}
}
