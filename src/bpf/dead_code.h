/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/dead_code.h - remove the code that a run's settings make unreachable.
 *
 * The kernel's verifier removes it too, but each run of dead instructions by itself, and moves all
 * that follows: a third of the time for which a load takes.
 */
#pragma once

#include <stddef.h>

#include "bpf/program_code.h"

/* The frozen map that programs read their settings from. */
struct program_constants {
	int fd;
	const void *at;
	size_t bytes;
};

/*
 * Follow all registers that contain settings, and numbers made of them. Remove the branches that
 * they decide, and what nothing reaches then. Load settings as numbers. A move of TARGET_NUMBER
 * (bpf/abi.h) is not taken for a constant.
 */
void dead_code_remove(const struct program_constants *constants, struct program_code *code);

/* Remove the instructions that only set registers which nothing reads. */
void unused_code_remove(struct program_code *code);
