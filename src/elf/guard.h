/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf/guard.h - survive the truncation of files that we have mapped.
 *
 * Anyone who may write to a file can truncate it while we read it. A read past the new end causes
 * SIGBUS, which would end the program. The guard's handler maps zeros there, and notes that the
 * file was damaged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set the handler, once for a process, before it maps any file. */
void guard_begin(void);

#define GUARD_NONE UINT32_MAX

/* Guard a file that is mapped at @at. GUARD_NONE: too many files, this one is not guarded. */
uint32_t guard_add(const void *at, size_t bytes);
/* End a guard, before the file is unmapped. Accepts GUARD_NONE. */
void guard_remove(uint32_t guard);
/* Was any part of the file missing when we read it? */
bool guard_is_hit(uint32_t guard);
