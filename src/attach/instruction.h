/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/instruction.h - may the kernel's uprobes refuse an instruction? */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * arch_may_refuse_uprobe() of the instruction at @offset of a file. False if it cannot be read: the
 * kernel decides.
 */
bool instruction_at_may_be_refused(int fd, uint64_t offset);

/*
 * Open a file to read instructions, without waiting. -1: it cannot be opened, or is no regular
 * file.
 */
int instruction_open(const char *path);
