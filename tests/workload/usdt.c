// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usdt N - three USDT probes, N hits each: alpha:tick, beta:tick (equal names, two
 * providers) and, guarded by a semaphore, alpha:gated (in usdt_gated.c).
 */
#include <sys/sdt.h>

#include "work.h"

/* usdt_gated.c: sys/sdt.h gives all probes of a file semaphores, or none. */
void fire_gated(uint64_t i);
unsigned gated_semaphore(void);

static uint64_t n;
static unsigned semaphore;

FRAME static void fire_alpha(uint64_t i) CALLS(STAP_PROBE1(alpha, tick, i));

FRAME static void fire_beta(uint64_t i) CALLS(STAP_PROBE1(beta, tick, i));

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		fire_alpha(i);
		fire_beta(i);
		fire_gated(i);
	}
	semaphore = gated_semaphore();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("fire_alpha", n);
	work_expect("fire_beta", n);
	work_expect("fire_gated", semaphore ? n : 0);
	return 0;
}
