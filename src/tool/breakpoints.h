/* tool/breakpoints.h - where to stop a command whose program is mapped, but has not begun. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOST_BREAKPOINTS 4 /* an x86 CPU has no more */

/*
 * Addresses in process @pid, that is stopped before its first instruction, at @ip. The first is
 * where the program's own code begins. The others are functions that the dynamic linker calls
 * before: when all libraries are mapped, and nothing of them has run. Returns how many; 0: not even
 * the first is known.
 */
size_t breakpoints_find(pid_t pid, uint64_t ip, uint64_t ret[MOST_BREAKPOINTS]);
