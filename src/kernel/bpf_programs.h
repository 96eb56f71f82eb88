/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/bpf_programs.h - the functions of BPF programs: names, addresses, and times.
 *
 * Programs come and go, and the next one often takes the last one's place. So an address means a
 * function for a time only. The time begins when the program was loaded, as the kernel reports it.
 * It ends when the program was seen last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_programs;

struct bpf_programs *bpf_programs_new(void);
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

/*
 * Turns times of CLOCK_BOOTTIME, which the kernel reports, into times of CLOCK_MONOTONIC. The
 * former clock goes on while the machine sleeps. For times since the first look at both clocks, the
 * result is never too early.
 */
struct clock_steps {
	struct clock_step {
		uint64_t boottime; /* when the difference was measured */
		uint64_t ahead;
	} * steps;
	size_t n, capacity;
};

/* Note that @boottime is ahead of CLOCK_MONOTONIC by at least @ahead, now. */
void clock_steps_add(struct clock_steps *c, uint64_t boottime, uint64_t ahead);
uint64_t clock_steps_monotonic(const struct clock_steps *c, uint64_t boottime);
void clock_steps_fini(struct clock_steps *c);
