// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which instruction ends at a return address? Nothing can read instructions backwards. So this
 * tries each form that leaves a return address:
 *
 *	e8 d32                   call
 *	ff /2, 2 to 7 bytes      call *%rax, *8(%rax), *f@GOT(%rip)
 *	0f 05, 0f 34, cd 80      syscall, sysenter, int $0x80: calls of the kernel
 *
 * Padding between functions does not end like any of them.
 */
#include "elf/image.h"

#define LONGEST 7

/* The length of "ff /2" with the second byte @modrm and the third @sib. 0: it is no such call. */
static size_t indirect_length(uint8_t modrm, uint8_t sib)
{
	const uint8_t mod = modrm >> 6, base = modrm & 7;
	size_t n = 2;

	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mod == 3)
		return n;
	n += base == 4;
	if (mod == 1)
		return n + 1;
	if (mod == 2 || base == 5 || (base == 4 && (sib & 7) == 5))
		return n + 4;
	return n;
}

bool image_is_behind_call(const struct image *im, uint64_t vaddr)
{
	uint8_t code[LONGEST] = {};
	size_t n = LONGEST;

	while (n && (vaddr < n || image_code_at(im, vaddr - n, code + LONGEST - n, n) < n))
		n--;

	const uint8_t *end = code + LONGEST;

	if (n >= 5 && end[-5] == 0xe8)
		return true;
	if (n >= 2 && ((end[-2] == 0x0f && (end[-1] == 0x05 || end[-1] == 0x34)) ||
		       (end[-2] == 0xcd && end[-1] == 0x80)))
		return true;
	for (size_t i = 2; i <= n; i++)
		if (*(end - i) == 0xff &&
		    indirect_length(*(end - i + 1), i > 2 ? *(end - i + 2) : 0) == i)
			return true;
	return false;
}
