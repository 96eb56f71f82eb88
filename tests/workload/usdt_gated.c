// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "work.h"

/* The tracer's count of users, which the kernel changes through the file's offset. */
volatile unsigned short alpha_gated_semaphore __attribute__((section(".probes")));

unsigned gated_semaphore(void)
{
	return alpha_gated_semaphore;
}

FRAME void fire_gated(uint64_t i)
{
	if (alpha_gated_semaphore)
		STAP_PROBE1(alpha, gated, i);
	STAY();
}
