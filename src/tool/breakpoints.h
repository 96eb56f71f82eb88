/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/breakpoints.h - where to stop a command whose program is mapped, but has not begun. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOST_BREAKPOINTS 4 /* an x86 CPU has four */

/*
 * Find addresses where process @pid should stop. It is stopped before its first instruction, at
 * @ip. The first address is the program's entry point. The others are functions that the dynamic
 * linker calls earlier. At one of these calls all libraries are mapped, and none of their code has
 * run. Returns the number of addresses; 0: the entry point is not known.
 */
size_t breakpoints_find(pid_t pid, uint64_t ip, uint64_t ret[MOST_BREAKPOINTS]);
