// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A stub of a PLT jumps through a slot:
 *
 *	bti  c                       with control-flow enforcement
 *	adrp x16, slot's page
 *	ldr  x17, [x16, #offset]     R_AARCH64_JUMP_SLOT puts the function there
 *	add  x16, x16, #offset
 *	br   x17
 */
#include <elf.h>
#include <string.h>

#include "arch/aarch64/code.h"
#include "arch/arch.h"

#define BTI_C 0xd503245fU
#define BR_X17 0xd61f0220U

bool arch_fills_slot(uint32_t type, bool is_64_bit)
{
	return is_64_bit && (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
			     type == R_AARCH64_IRELATIVE);
}

static uint32_t code_word_at(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

/* The page that "adrp x16" at @vaddr gives. */
static uint64_t page_of_adrp(uint32_t adrp, uint64_t vaddr)
{
	const uint32_t pages = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);
	const int64_t distance = (int32_t)(pages << 11) >> 11;

	return (vaddr & ~UINT64_C(4095)) + (uint64_t)(distance * 4096);
}

bool arch_stub_slot(const uint8_t *code, size_t n, uint64_t vaddr, bool is_64_bit, uint64_t got,
		    uint64_t *ret)
{
	size_t at = 0;

	(void)got;
	if (n >= 4 && code_word_at(code) == BTI_C)
		at = 4;
	if (!is_64_bit || n - at < 16 || (code_word_at(code + at) & 0x9f00001f) != 0x90000010)
		return false;

	const uint32_t load = code_word_at(code + at + 4);

	if ((load & 0xffc003ff) != 0xf9400211 || code_word_at(code + at + 12) != BR_X17)
		return false;
	*ret = page_of_adrp(code_word_at(code + at), vaddr + at) + (load >> 10 & 0xfff) * 8ULL;
	return true;
}
