/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch/own.h - the one place that asks which architecture this is. #include ARCH_OWN(walk.h) takes
 * walk.h from the architecture's own folder. For arch/ only.
 *
 * A BPF program runs on the machine that it walks the stacks of. libbpf's headers have a name for
 * that machine, too, and its compiler knows none.
 */
#pragma once

#define ARCH_STRING_OF(text) #text
#define ARCH_STRING(text) ARCH_STRING_OF(text)

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a path has none. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define ARCH_OWN(header) ARCH_STRING(arch/x86_64/header)
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define ARCH_OWN(header) ARCH_STRING(arch/aarch64/header)
#else
#error "no folder of src/arch/ is for this architecture: see doc/HOWTO_ADD_ARCHITECTURE.md"
#endif
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */
