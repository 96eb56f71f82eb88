// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which instruction ends at a return address? Nothing can read instructions backwards. */
#include "arch/arch.h"
#include "elf/image.h"

bool image_is_behind_call(const struct image *im, uint64_t vaddr)
{
	uint8_t code[ARCH_CALL_BYTES] = {};
	size_t n = ARCH_CALL_BYTES;

	while (n && (vaddr < n || image_code_at(im, vaddr - n, code + ARCH_CALL_BYTES - n, n) < n))
		n--;
	return arch_is_behind_call(code + ARCH_CALL_BYTES, n);
}
