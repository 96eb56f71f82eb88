/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/btf_ids.h - put the BTF IDs of the kernel's variables, functions and types into programs.
 * libbpf does the same, but makes an index of all of the kernel's BTF for it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An ID is put where a program has its placeholder (bpf/abi.h). */
struct btf_ids {
	uint32_t preempt_count; /* of the per-CPU variable that contains it; 0: do not put it */
	uint32_t cast_call;     /* of bpf_rdonly_cast(); 0: the programs call nothing there */
	uint32_t cast_type;     /* of a structure that begins with a word */
};

struct bpf_insn;

void btf_ids_put(const struct btf_ids *ids, struct bpf_insn *insns, size_t n);
