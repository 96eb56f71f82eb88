/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/dead_code.h - remove the code that a run's settings make unreachable.
 *
 * The kernel's verifier would remove it, too. But it removes one run of dead instructions at a
 * time, and moves all instructions behind it each time. That is a fifth of the time of a load.
 */
#pragma once

#include <stddef.h>

#include "bpf/program_code.h"

/* The frozen map that programs read their settings from. */
struct program_constants {
	int fd;
	const void *at;
	size_t bytes;
	size_t unknown; /* the offset of a number that decides nothing here */
};

/*
 * Follow all registers that contain settings, and numbers made of them. Remove the branches that
 * they decide, and the code that nothing reaches then. Replace loads of settings by their values.
 */
void dead_code_remove(const struct program_constants *constants, struct program_code *code);
