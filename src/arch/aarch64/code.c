// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Code that is known by its bytes. */
#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"

/* --- calls: instructions have 4 bytes each, so a call and its end are known --- */

#define SVC 0xd4000001U

bool arch_is_behind_call(const uint8_t *end, size_t n)
{
	uint32_t last;

	if (n < sizeof(last))
		return false;
	memcpy(&last, end - sizeof(last), sizeof(last));
	return last == SVC || code_may_be_call((uint64_t)last << 32);
}

/* --- the first code of the dynamic linker --- */

/*
 * glibc's dynamic linker begins so:
 *
 *	1f 20 03 d5    nop                or bti c
 *	1d 00 80 d2    mov x29, #0
 *	1e 00 80 d2    mov x30, #0
 *	e0 03 00 91    mov x0, sp
 *	80 ee ff 97    bl  _dl_start
 */
#define NOP 0xd503201fU
#define BTI_C 0xd503245fU
#define BL(word) ((word) >> 26 == 0x25)

size_t arch_linker_start(const uint8_t *code, size_t n)
{
	static const uint32_t begin[] = { 0xd280001d, 0xd280001e, 0x910003e0 };
	uint32_t words[ARCH_LINKER_START_BYTES / 4] = {};
	size_t at;

	memcpy(words, code, n < sizeof(words) ? n : sizeof(words));
	at = words[0] == NOP || words[0] == BTI_C;
	if (memcmp(words + at, begin, sizeof(begin)) != 0 || !BL(words[at + ARRAY_SIZE(begin)]))
		return 0;
	return (at + ARRAY_SIZE(begin) + 1) * 4;
}

/* --- stubs of PLTs --- */

/*
 * A stub of a PLT jumps through a slot:
 *
 *	bti  c                       with control-flow enforcement
 *	adrp x16, slot's page
 *	ldr  x17, [x16, #offset]     R_AARCH64_JUMP_SLOT puts the function there
 *	add  x16, x16, #offset
 *	br   x17
 */
#define BR_X17 0xd61f0220U

bool arch_fills_slot(uint32_t type)
{
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_IRELATIVE;
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

bool arch_stub_slot(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *ret)
{
	size_t at = 0;

	if (n >= 4 && code_word_at(code) == BTI_C)
		at = 4;
	if (n - at < 16 || (code_word_at(code + at) & 0x9f00001f) != 0x90000010)
		return false;

	const uint32_t load = code_word_at(code + at + 4);

	if ((load & 0xffc003ff) != 0xf9400211 || code_word_at(code + at + 12) != BR_X17)
		return false;
	*ret = page_of_adrp(code_word_at(code + at), vaddr + at) + (load >> 10 & 0xfff) * 8ULL;
	return true;
}

/* --- what is declined --- */

/*
 * There are no unwind tables for aarch64 yet (ARCH_HAS_TABLES): --unwind dwarf is refused, and auto
 * walks by frame pointers. So nobody asks for rules, nor for the CFI of known code. All functions
 * here answer "none".
 */
#pragma GCC diagnostic ignored "-Wunused-parameter"

const struct arch_bytes arch_cfi_of_entry, arch_cfi_of_signal, arch_cfi_of_root;
const struct arch_bytes arch_signal_return, arch_thread_root, arch_fiber_root;
const struct arch_bytes arch_clones[2];
const struct arch_bytes arch_trace_exit;
const struct arch_bytes arch_go_switch, arch_go_system_call;

#define NO_ANSWER(type, function)   \
	type function               \
	{                           \
		return (type){ 0 }; \
	}

NO_ANSWER(struct arch_bytes, arch_cfi_of_stubs(const uint8_t *code, size_t n))
NO_ANSWER(struct arch_bytes, arch_cfi_of_crt(const uint8_t *code, size_t n))
NO_ANSWER(bool, arch_is_stub_expression(const uint8_t *rest, size_t n, int32_t *ret))
NO_ANSWER(size_t, arch_exit_bytes(const uint8_t *code, size_t n))
NO_ANSWER(bool, arch_may_be_start(const uint8_t *code, size_t n))
NO_ANSWER(bool, arch_go_pops_return(const uint8_t code[ARCH_GO_POP_BYTES], struct cfi_row *row))

/* The kernel has no unwind tables here. */
NO_ANSWER(enum orc_layout, orc_layout_of(const uint8_t header[ORC_HEADER_BYTES]))
NO_ANSWER(enum orc_layout, orc_layout_by_members(bool has_type, bool has_signal, bool has_end))
NO_ANSWER(uint64_t, orc_rule_of(enum orc_layout layout, const uint8_t bytes[ORC_ENTRY_BYTES]))

/* No compiler begins functions with what has no probe, so none is moved. */
NO_ANSWER(size_t, arch_skippable(const uint8_t *code, size_t n, bool is_entry,
				 size_t ends[ARCH_MOST_SKIPPED]))

struct unwind_rule arch_rule_of(const struct cfi_row *row)
{
	return (struct unwind_rule){ .how = UNWIND_UNFIT };
}

struct cfi_row arch_go_row(uint64_t vaddr, int32_t delta, bool is_fp_saved)
{
	return (struct cfi_row){ .vaddr = vaddr, .kind = CFI_BAD };
}

struct cfi_row arch_go_signal_row(uint64_t vaddr)
{
	return (struct cfi_row){ .vaddr = vaddr, .kind = CFI_BAD };
}

struct instruction instruction_at(const uint8_t *code, size_t n, uint64_t vaddr)
{
	return (struct instruction){ .length = ARCH_INSTRUCTION_BYTES,
				     .kind = INSTRUCTION_BAD,
				     .reg = REGISTER_NONE,
				     .base = REGISTER_NONE,
				     .store_reg = REGISTER_NONE };
}

/* No probe is moved (arch_skippable()), so nobody needs to know what jumps behind a first one. */
void arch_each_jump(const uint8_t *code, size_t n, uint64_t vaddr, arch_take_jump *take,
		    void *context)
{
}
