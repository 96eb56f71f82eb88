// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * There are no unwind tables for aarch64 yet (ARCH_HAS_TABLES): --unwind dwarf is refused, and auto
 * walks by frame pointers. So nobody asks for rules, nor for the CFI of known code. All functions
 * here answer "none".
 */
#include "arch/arch.h"
#include "arch/instruction.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

const struct arch_bytes arch_cfi_of_entry, arch_cfi_of_signal, arch_cfi_of_root;
const struct arch_bytes arch_signal_return, arch_thread_root, arch_fiber_root;
const struct arch_bytes arch_clones[2];
const struct arch_bytes arch_trace_exit;
const struct arch_bytes arch_go_switch, arch_go_system_call;

struct unwind_rule arch_rule_of(const struct cfi_row *row)
{
	return (struct unwind_rule){ .how = UNWIND_UNFIT };
}

struct arch_bytes arch_cfi_of_stubs(const uint8_t *code, size_t n)
{
	return (struct arch_bytes){};
}

struct arch_bytes arch_cfi_of_crt(const uint8_t *code, size_t n)
{
	return (struct arch_bytes){};
}

bool arch_is_stub_expression(const uint8_t *rest, size_t n, int32_t *ret)
{
	return false;
}

size_t arch_exit_bytes(const uint8_t *code, size_t n)
{
	return 0;
}

bool arch_may_be_start(const uint8_t *code, size_t n)
{
	return false;
}

struct cfi_row arch_go_row(uint64_t vaddr, int32_t delta, bool is_fp_saved)
{
	return (struct cfi_row){ .vaddr = vaddr, .kind = CFI_BAD };
}

struct cfi_row arch_go_signal_row(uint64_t vaddr)
{
	return (struct cfi_row){ .vaddr = vaddr, .kind = CFI_BAD };
}

bool arch_go_saves_fp(const uint8_t code[ARCH_GO_SAVE_BYTES])
{
	return false;
}

bool arch_go_pops_return(const uint8_t code[ARCH_GO_POP_BYTES], struct cfi_row *row)
{
	return false;
}

struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr)
{
	return (struct instruction){ .length = ARCH_INSTRUCTION_BYTES,
				     .kind = INSTRUCTION_BAD,
				     .reg = REGISTER_NONE,
				     .base = REGISTER_NONE,
				     .store_reg = REGISTER_NONE };
}

bool instruction_is_system_call(const uint8_t *code, const struct instruction *i)
{
	return false;
}
