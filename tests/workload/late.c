// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* late.c - liblate.so: code that is not there when a program starts (see dl.c, swap.c). */
#include "work.h"

/* Bytes of each frame, at least. */
#ifndef ROOM
#define ROOM 8
#endif

FRAME static void late_hit(void)
{
	char room[ROOM];

	__asm__ volatile("" : : "r"(room) : "memory");
	GETPPID();
	STAY();
}

FRAME void late_entry(void)
{
	char room[ROOM];

	__asm__ volatile("" : : "r"(room) : "memory");
	late_hit();
	STAY();
}
