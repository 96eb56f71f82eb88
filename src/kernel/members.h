/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/members.h - offsets of the members that BPF programs read in the kernel's structures. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/abi.h"

/* The kernel's preempt_count, which shows the context of a hit. */
struct context_offsets {
	uint32_t variable;     /* BTF ID of the per-CPU variable that contains it; 0: unknown */
	uint32_t offset;       /* byte offset in that variable */
	uint32_t hardirq_mask; /* bits of preempt_count */
	uint32_t nmi_mask;
};

/* For loads of the kernel's memory. BTF IDs; 0: this kernel has none. */
struct cast_ids {
	uint32_t call; /* bpf_rdonly_cast() */
	uint32_t type; /* a structure that begins with a word */
};

struct kernel_members {
	struct vma_offsets vma; /* .is_known is 0 if a member does not exist */
	struct context_offsets context;
	struct cast_ids cast;
};

/* Parts of struct kernel_members. The last two lie at the end of the BTF and take 1 ms. */
struct wanted_members {
	bool vma;     /* .end_code is read only with .context */
	bool context; /* the kernel's preempt_count */
	bool cast;
};

/*
 * Read the @wanted ones from the kernel's BTF; the others are 0. Errors: those of
 * kernel_types_read(); *@ret is empty then.
 */
must_check int kernel_members_read(struct wanted_members wanted, struct kernel_members *ret,
				   struct error *e);
