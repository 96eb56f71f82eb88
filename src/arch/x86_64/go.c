// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Go's table has the distance that rsp has moved, for each place of a function. So
 *
 *	CFA = rsp + delta + 8     return address at CFA - 8     caller's rbp at CFA - 16
 *
 * The last holds in compiled code, from a frame's beginning to its end. Up to Go 1.20, functions
 * begin and end with
 *
 *	sub $n,%rsp;  mov %rbp,n-8(%rsp);  lea n-8(%rsp),%rbp
 *	mov n-8(%rsp),%rbp;  add $n,%rsp;  ret
 *
 * Only at the second instruction is our rbp wrong. Later functions have
 *
 *	push %rbp;  mov %rsp,%rbp;  sub $n,%rsp        add $n,%rsp;  pop %rbp;  ret
 *
 * Functions in assembly may do the same, or move rsp and leave rbp alone. Their instructions tell.
 */
#include "arch/arch.h"

struct cfi_row arch_go_row(uint64_t vaddr, int32_t delta, bool is_fp_saved)
{
	struct cfi_row row = {
		.vaddr = vaddr,
		.cfa = { .how = CFI_IS, .reg = CFI_RSP, .offset = delta + 8 },
		.third = { .how = CFI_UNDEFINED },
		.sp = { .how = CFI_IS_CFA },
		.pc = { .how = CFI_AT_CFA, .offset = -8 },
	};

	if (is_fp_saved)
		row.fp = (struct cfi_value){ .how = CFI_AT_CFA, .offset = -16 };
	return row;
}

/* The row of the kernel's signal frame, which is_linux_signal() recognizes. */
struct cfi_row arch_go_signal_row(uint64_t vaddr)
{
	return (struct cfi_row){
		.vaddr = vaddr,
		.is_signal = true,
		.cfa = { .how = CFI_AT, .reg = CFI_RSP, .offset = 160 },
		.third = { .how = CFI_AT, .reg = CFI_RSP, .offset = 128 },
		.fp = { .how = CFI_AT, .reg = CFI_RSP, .offset = 120 },
		.sp = { .how = CFI_AT, .reg = CFI_RSP, .offset = 160 },
		.pc = { .how = CFI_AT, .reg = CFI_RSP, .offset = 168 },
	};
}

/* Is @code "pop %r9" or a similar instruction? */
bool arch_go_pops_return(const uint8_t code[ARCH_GO_POP_BYTES], struct cfi_row *row)
{
	if (code[0] != 0x41 || (code[1] & 0xf8) != 0x58)
		return false;
	row->pc = (struct cfi_value){ .how = CFI_IN, .reg = 8 + (code[1] & 7) };
	return true;
}

/* Is "push %rbp" before the place, or "mov %rbp,n(%rsp)" at it, with n of no, one or four bytes? */
bool arch_go_saves_fp(const uint8_t code[ARCH_GO_SAVE_BYTES])
{
	return code[0] == 0x55 || (code[1] == 0x48 && code[2] == 0x89 && code[4] == 0x24 &&
				   (code[3] == 0x2c || code[3] == 0x6c || code[3] == 0xac));
}

/* mov %rsi,%rsp */
const struct arch_bytes arch_go_switch = { (const uint8_t *)"\x48\x89\xf4", 3 };
const struct arch_bytes arch_go_system_call = { (const uint8_t *)"\x0f\x05", 2 };
