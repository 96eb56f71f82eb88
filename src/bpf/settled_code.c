// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/settled_code.h"

#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "bpf/dead_code.h"
#include "bpf/unused_code.h"

void settled_code_keep(const struct settings_map *settings, struct program_code *code)
{
	struct program_constants constants = { .fd = bpf_map__fd(settings->map) };

	constants.at = bpf_map__initial_value((struct bpf_map *)settings->map, &constants.bytes);
	/* The kernel must see the tail call that this makes unreachable (keep_own_stack()). */
	constants.unknown = settings->at + offsetof(struct trace_config, never);
	dead_code_remove(&constants, code);
	unused_code_remove(code);
	if (settings->value)
		value_code_put(settings->value, code);
}

/*
 * Before loading, libbpf tries bpf_probe_read_kernel(). If lockdown (confidentiality) refuses that,
 * libbpf takes the kernel for one before 5.5. It then replaces both newer helpers by
 * bpf_probe_read(), which lockdown refuses, too. Reading user memory would have been allowed, so we
 * put that helper back. Programs in these sections read no kernel memory.
 */
void settled_code_put_helper_back(struct bpf_insn *insns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == 0 &&
		    insns[i].imm == BPF_FUNC_probe_read)
			insns[i].imm = BPF_FUNC_probe_read_user;
}
