// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Instructions have 4 bytes each, so a call and its end are known. */
#include <string.h>

#include "arch/arch.h"
#include "arch/code.h"

#define SVC 0xd4000001U

bool arch_is_behind_call(const uint8_t *end, size_t n)
{
	uint32_t last;

	if (n < sizeof(last))
		return false;
	memcpy(&last, end - sizeof(last), sizeof(last));
	return last == SVC || code_may_be_call((uint64_t)last << 32);
}

/* No probe is moved (arch_skippable()), so nobody needs to know what jumps behind a first one. */
void arch_each_jump(const struct arch_code *of, arch_take_jump *take, void *context)
{
	(void)of;
	(void)take;
	(void)context;
}
