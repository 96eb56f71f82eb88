/* elf/demangle.h - names of C++, Rust (legacy and v0) and D as they were written (libiberty). */
#pragma once

/* To free(); NULL when @name is not mangled. Length and depth are bounded. */
char *demangle(const char *name);
