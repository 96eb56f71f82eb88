/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf/demangle.h - demangle names of C++, Rust (legacy and v0) and D, with libiberty. */
#pragma once

/* Return the demangled name, which the caller frees. NULL: @name is not mangled, or exceeds the
 * bounds of length and depth. */
char *demangle(const char *name);
