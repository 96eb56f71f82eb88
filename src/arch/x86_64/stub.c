// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A stub of a PLT jumps through a slot:
 *
 *	endbr64                  with control-flow enforcement
 *	mov    $7,%r11d          by some linkers
 *	bnd                      by some linkers
 *	jmp    *0x2fe2(%rip)     -> 0x4018: R_X86_64_JUMP_SLOT puts the function there
 *
 * Stubs begin at multiples of 8. The second half of one of 16 bytes does not decode as a stub.
 */
#include <elf.h>
#include <string.h>

#include "arch/arch.h"

bool arch_fills_slot(uint32_t type, bool is_64_bit)
{
	if (is_64_bit)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_IRELATIVE;
	return type == R_386_JMP_SLOT || type == R_386_GLOB_DAT || type == R_386_IRELATIVE;
}

static size_t skip_bytes(const uint8_t *code, size_t n, size_t at, const char *bytes,
			 size_t n_bytes)
{
	return n - at >= n_bytes && memcmp(code + at, bytes, n_bytes) == 0 ? at + n_bytes : at;
}

bool arch_stub_slot(const uint8_t *code, size_t n, uint64_t vaddr, bool is_64_bit, uint64_t got,
		    uint64_t *ret)
{
	size_t at = skip_bytes(code, n, 0, is_64_bit ? "\xf3\x0f\x1e\xfa" : "\xf3\x0f\x1e\xfb", 4);
	int32_t there;

	if (is_64_bit && n - at >= 6 && code[at] == 0x41 && code[at + 1] == 0xbb)
		at += 6;
	at = skip_bytes(code, n, at, "\xf2", 1);
	if (n - at < 6 || code[at] != 0xff || (code[at + 1] != 0x25 && code[at + 1] != 0xa3))
		return false;
	memcpy(&there, code + at + 2, sizeof(there));
	if (is_64_bit && code[at + 1] == 0x25)
		*ret = vaddr + at + 6 + (uint64_t)there;
	else if (!is_64_bit && code[at + 1] == 0x25)
		*ret = (uint32_t)there;
	else if (!is_64_bit)
		*ret = (uint32_t)(got + (uint32_t)there);
	else
		return false;
	return true;
}
