/*
 * elf/guard.h - files that are mapped to be read, and may be cut short meanwhile by whoever may
 * write to them. What is not there any more reads as zeros, and that is told; without it, SIGBUS
 * would end the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For the whole process, once, before any file is mapped. */
void guard_begin(void);

#define GUARD_NONE UINT32_MAX

/* [@at, @at + @bytes) is a file's. GUARD_NONE: there is no room for more, nothing is guarded. */
uint32_t guard_add(const void *at, size_t bytes);
/* Before it is unmapped. GUARD_NONE is taken. */
void guard_remove(uint32_t guard);
/* Has any of it been missing? */
bool guard_is_hit(uint32_t guard);
