// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* first_library.c - libfirst.so: a constructor calls getppid() ten times (see first.c). */
#include "work.h"

int first_hits(void);

static int n_hits;

FRAME static void first_hit(void)
{
	GETPPID();
	n_hits++;
	STAY();
}

__attribute__((constructor)) static void first_constructor(void)
{
	for (int i = 0; i < 10; i++)
		first_hit();
	STAY();
}

int first_hits(void)
{
	return n_hits;
}
