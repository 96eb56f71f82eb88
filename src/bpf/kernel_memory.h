/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/kernel_memory.h - read the kernel's memory, by programs of type SYSCALL that the kernel runs
 * at request (BPF_PROG_TEST_RUN). bpf_probe_read_kernel() fails where nothing is mapped, so no
 * address can do harm. Lockdown for confidentiality refuses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kernel_memory;

/* Errors: the kernel's, from loading. *@ret is the caller's. */
must_check int kernel_memory_open(struct kernel_memory **ret, struct error *e);
void kernel_memory_freep(struct kernel_memory **m);

#define KERNEL_PIECE_BYTES 49152U /* 8,192 entries of the kernel's unwind tables */

/*
 * Read @bytes at @addr, at most KERNEL_PIECE_BYTES. Returns where they are, until the next call;
 * NULL: they cannot be read. Lent by @m.
 */
const void *kernel_memory_read(struct kernel_memory *m, uint64_t addr, size_t bytes);

/*
 * The address of the kernel's symbol @name; 0: there is none, or this user may not know it. Before
 * Linux 6.2, each call takes milliseconds.
 */
uint64_t kernel_memory_symbol(struct kernel_memory *m, const char *name);
