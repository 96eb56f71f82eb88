/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/bpf_programs.h - the functions of BPF programs: names, addresses, and times.
 *
 * Programs come and go, and the next one often takes the last one's place. So an address means a
 * function for a time only. The time begins when perf reports the program, or with our first look.
 * It ends when the program was seen last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_programs;

/*
 * Answers are about times from this call on. @has_records: have the kernel record when programs
 * come, with a ring for each CPU. Else they have names from our first look on.
 */
struct bpf_programs *bpf_programs_new(bool has_records);
void bpf_programs_free(struct bpf_programs *p);

/* Read the list of loaded programs now. */
void bpf_programs_look(struct bpf_programs *p);

struct program_symbol {
	const char *name; /* "bpf_prog_6deef7357e7b4530_on_hit"; lent until the next look */
	uint64_t start;
	uint64_t size;
	uint64_t from, until; /* ns of CLOCK_MONOTONIC; UINT64_MAX: until this process ends */
};

/*
 * Find the function at @addr that was there from @first to @last (ns of CLOCK_MONOTONIC, not later
 * than now). Reads the list of programs if that is not known yet.
 */
bool bpf_programs_at(struct bpf_programs *p, uint64_t addr, uint64_t first, uint64_t last,
		     struct program_symbol *ret);
