/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/breakpoints.h - where to stop a command whose program is mapped, but has not begun. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"

#define MOST_BREAKPOINTS ARCH_BREAKPOINTS

/*
 * Find addresses where process @pid should stop. It is stopped before its first instruction, at
 * @pc. The first address is the program's entry point. The others are functions that the dynamic
 * linker calls earlier. At one of these calls all libraries are mapped, and none of their code has
 * run. Returns the number of addresses; 0: the entry point is not known.
 */
size_t breakpoints_find(pid_t pid, uint64_t pc, uint64_t ret[MOST_BREAKPOINTS]);
