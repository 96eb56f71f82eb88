/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/bpf_programs.h - the functions of the BPF programs that are loaded now. Programs come and
 * go, and the next one often takes the last one's place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program_function {
	char *name; /* as in /proc/kallsyms: "bpf_prog_6deef7357e7b4530_on_hit" */
	uint64_t start, end;
	uint64_t since; /* no hit before is of this program; ns of CLOCK_MONOTONIC */
	uint32_t id;    /* of the program */
	bool is_own;    /* this process holds the program, so it stays */
};

struct bpf_programs {
	struct program_function *functions;
	size_t n, capacity;
	uint32_t newest; /* all programs up to this number have been read */
	uint64_t looked; /* at this time, ns of CLOCK_MONOTONIC */
	uint64_t asleep; /* ns by which CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC */
};

void bpf_programs_init(struct bpf_programs *p);
void bpf_programs_fini(struct bpf_programs *p);

/* Read the programs that have come since the last time, and forget those that have gone. */
void bpf_programs_look(struct bpf_programs *p);

/*
 * The function at @addr of a program that is loaded now. Looks again if there is none. NULL: still
 * none. Lent until the next look.
 */
const struct program_function *bpf_programs_at(struct bpf_programs *p, uint64_t addr);
