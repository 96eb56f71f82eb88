/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/kernel_tables.h - the data by which programs walk kernel stacks. arch/kernel_step.h says what
 * rules mean, and unwind/table.h makes a table.
 *
 * The kernel's own tables do not change while it runs, and are one image. Those of modules are
 * another, which comes and goes with them. An image is an inner map of 'kernel_images', and has
 *
 *	pages     n_pages + 1 numbers of entries, 4 bytes each: the first of each 64 KiB
 *	entries   struct unwind_entry
 *	rules     8 bytes each
 *
 * A wrong place in an image can only give a wrong rule: programs bound what they read.
 */
#pragma once

#include "arch/kernel_step.h"
#include "bpf/abi.h"
#include "bpf/user_step.h"

enum kernel_image_number { KERNEL_IMAGE, MODULES_IMAGE, KERNEL_IMAGES };

/* Places are bytes from the image's beginning, and multiples of 8. */
struct kernel_image {
	__u64 start; /* of the code that it covers */
	__u64 bytes; /* 0: there is no such image */
	__u32 pages;
	__u32 entries;
	__u32 rules;
	__u32 n_rules;
};
_Static_assert(sizeof(struct kernel_image) == 32, "abi");

/* Rules that were found lately. See struct recent_rule, whose check works in the same way. */
#define RECENT_KERNEL_BITS 12
#define RECENT_KERNEL_RULES (1U << RECENT_KERNEL_BITS)

struct recent_kernel_rule {
	__u64 check; /* address ^ generation << 48 ^ check_of_kernel_rule(rule) */
	__u64 rule;
};

/* All bits of a rule, spread: no two rules make one address out of another. */
static __always_inline __u64 check_of_kernel_rule(__u64 rule)
{
	return rule * 0x9e3779b97f4a7c15ULL;
}

/*
 * The kernel's helper also walks the first CHECKED_FIRST hits of each slot, and one in
 * CHECKED_EVERY after them.
 */
#define CHECKED_FIRST 16U
#define CHECKED_EVERY 65536U

#define KERNEL_END_SLOTS 16
_Static_assert(KERNEL_ENDS <= KERNEL_END_SLOTS, "abi");

#define LAST_GENERATION 65535U
#define NO_GENERATION (~0U)

/* The value of 'kernel_walks'. User space writes what programs do not. */
struct kernel_walks {
	__u32 is_on;
	/*
	 * How many modules have gone. A program counts, before the kernel frees their code. With
	 * each, all recent rules are forgotten. At LAST_GENERATION it stops, and so do walks of
	 * modules: a recent rule has 16 bits for the generation.
	 */
	__u32 generation;
	__u32 modules_generation; /* the modules' image is valid in this one alone */
	__u32 pad0;
	struct kernel_image images[KERNEL_IMAGES];
	__u64 apart[8];  /* each frame reads what stands above; walks in vain write the rest */
	__u32 n_unknown; /* programs: rows missed outside of the kernel; may lose some */
	__u32 pad1;
	__u64 is_wrong; /* programs: a walk differed from the helper's, at this address */
	__u64 fell_at[KERNEL_END_SLOTS]; /* programs: the pc at which a walk last ended so */
};

/*
 * How user space reads the kernel's memory, to copy tables: it fills in a request and runs one of
 * two programs (BPF_PROG_TEST_RUN). bpf_probe_read_kernel() fails where nothing is mapped, so no
 * address can do harm.
 */
#define KERNEL_PIECE_BYTES 49152U /* 8,192 entries of the kernel's unwind tables */

struct kernel_reading {
	char symbol[64]; /* a name, which fits with a zero behind it */
	__u64 symbol_at; /* its address, by the program */
	__u64 addr;      /* from here on, */
	__u64 bytes;     /* so many */
	__u8 piece[KERNEL_PIECE_BYTES];
};

/*
 * The price of a slot's hits, from its claim to its release. One hit in COST_EVERY is measured, and
 * not the first: that one makes rows.
 */
#define COST_EVERY 1024U
#define COST_EVERY_SAMPLE 16U /* which decide on the next ones: see attachment_pace() */
#define COST_FIRST 64U
#define COST_MOST_NS 1000000U /* of a hit; if it took longer, something else ran in between */

struct hit_cost {
	__u64 n_hits;
	__u64 n_measured;
	__u64 ns; /* of these, without the clock */
};

/* A slot begins with these; user space adds them up, as words of 8 bytes. */
struct slot_counts {
	struct hit_cost cost;
	__u64 ends[KERNEL_END_SLOTS]; /* of kernel stacks; KERNEL_END_ROOT: whole ones */
	__u64 n_checked;
	__u64 n_wrong;
};
