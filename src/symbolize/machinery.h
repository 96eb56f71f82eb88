/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbolize/machinery.h - tells kernel functions of the tracing itself from others. Pure. */
#pragma once

#include <stdbool.h>

/* @module: NULL for the kernel itself, "bpf" for BPF programs and trampolines. */
bool machinery_is(const char *name, const char *module);
