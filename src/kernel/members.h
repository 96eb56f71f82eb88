/* kernel/members.h - where the programs find what they read in the kernel's structures. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/abi.h"

/* The kernel's count of nested interrupts, which tells in which context a hit stands. */
struct context_offsets {
	uint32_t variable; /* BTF number of the per-CPU variable that it lies in; 0: not known */
	uint32_t offset;   /* bytes, in that variable */
	uint32_t hardirq_mask; /* bits of the count */
	uint32_t nmi_mask;
};

struct kernel_members {
	struct vma_offsets vma; /* not .is_known: a member is not there */
	struct context_offsets context;
};

/*
 * Read both from the kernel's BTF. @with_context: also .context and .vma.end_code, which lie at
 * its end: 1.0 ms in place of 0.1. Errors: those of kernel_types_read(); *@ret is empty then.
 */
must_check int kernel_members_read(bool with_context, struct kernel_members *ret, struct error *e);
