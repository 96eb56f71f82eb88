/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/demangle.h - names as people write them: C++, Rust (legacy and v0) and D, with libiberty. */
#pragma once

/*
 * ThinLTO makes some static functions global, and adds a number that each build changes:
 * "helper.llvm.1234". Returns the name without it, which the caller frees. NULL: @name has none.
 */
char *name_without_number(const char *name);

/* The name, without such a number, demangled unless it exceeds the bounds of length and depth. Call
 * it for foreign names in a child only, because it may take any time and memory. The caller frees
 * it. NULL: it is @symbol itself. */
char *demangle(const char *symbol);
