// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The first code of programs. glibc's dynamic linker begins so:
 *
 *	1f 20 03 d5    nop                or bti c
 *	1d 00 80 d2    mov x29, #0
 *	1e 00 80 d2    mov x30, #0
 *	e0 03 00 91    mov x0, sp
 *	80 ee ff 97    bl  _dl_start
 *
 * A program's _start takes main from a slot that the dynamic linker fills in. So it is not
 * followed, and main of a stripped program has no name.
 */
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"

enum arch_start_step arch_follow_start(struct arch_start *s, const uint8_t *code, size_t n)
{
	(void)s;
	(void)code;
	(void)n;
	return ARCH_START_UNKNOWN;
}

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
