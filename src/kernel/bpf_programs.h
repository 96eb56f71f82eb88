/*
 * kernel/bpf_programs.h - BPF programs: what each function of theirs is called, where it lies, and
 * when it was there.
 *
 * Programs come and go, and the next one is often put where the last one was: an address means
 * something for a time only. A program was loaded at a time that the kernel tells, and is there
 * for as long as it was seen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_programs;

struct bpf_programs *bpf_programs_new(void);
void bpf_programs_free(struct bpf_programs *p);

/* Look at what is loaded now. */
void bpf_programs_look(struct bpf_programs *p);

struct program_symbol {
	const char *name; /* "bpf_prog_6deef7357e7b4530_on_hit"; lent until the next look */
	uint64_t start;
	uint64_t size;
	uint64_t from, until; /* ns of CLOCK_MONOTONIC; UINT64_MAX: as long as this process runs */
};

/*
 * The function at @addr that was there all the time from @first to @last (ns of CLOCK_MONOTONIC,
 * not later than now). Looks at what is loaded where that is not known yet.
 */
bool bpf_programs_at(struct bpf_programs *p, uint64_t addr, uint64_t first, uint64_t last,
		     struct program_symbol *ret);

/*
 * What the kernel calls CLOCK_BOOTTIME goes on while the machine sleeps. A time of it that was
 * noted by the kernel, as one of CLOCK_MONOTONIC: never too early for what a program noted since
 * the first look at both clocks.
 */
struct clock_steps {
	struct clock_step {
		uint64_t boottime; /* when it was seen */
		uint64_t ahead;
	} * steps;
	size_t n, capacity;
};

/* @boottime is ahead of the other clock so much, at the least, now. */
void clock_steps_add(struct clock_steps *c, uint64_t boottime, uint64_t ahead);
uint64_t clock_steps_monotonic(const struct clock_steps *c, uint64_t boottime);
void clock_steps_fini(struct clock_steps *c);
