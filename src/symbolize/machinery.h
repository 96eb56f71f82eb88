/* symbolize/machinery.h - which kernel functions belong to the tracing itself. Pure. */
#pragma once

#include <stdbool.h>

/* @module: NULL for the kernel itself, "bpf" for BPF programs and trampolines. */
bool machinery_is(const char *name, const char *module);
