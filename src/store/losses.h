/* store/losses.h - what was not counted, by reason. */
#pragma once

#include <stdint.h>

#include "bpf/object.h"

/* Why hits are missing. The order in which they are reported. */
enum loss {
	LOSS_NO_SCRATCH,
	LOSS_STACKS_FULL,
	LOSS_COUNTS_FULL,
	LOSS_NO_MEMORY,
	LOSS_NOT_FOLLOWED,
	LOSS_RING_FULL,
	LOSS_IN_PAUSE,
	LOSS_AT_REST,
	LOSS_BUDGET,    /* our own memory, --max-memory */
	LOSS_UNPRINTED, /* when a signal asked for the end */
	LOSS_RECURSION, /* the kernel ran another BPF program on that CPU */
	LOSS_MISSED,    /* the kernel missed the probe */
	LOSS_N,
};

/* "no room in the kernel for a new stack (see --max-memory)". A constant. */
const char *loss_text(enum loss loss);

/* Owns nothing. Begin with { .object, .n_cpus }; the rest is its own. */
struct losses {
	const struct object *object;
	uint32_t n_cpus;                        /* possible ones */
	uint64_t n_over_budget;                 /* added to by the owner */
	uint64_t kernel_now[LOST_IN_KERNEL];    /* since the programs were loaded, when last read */
	uint64_t kernel_before[LOST_IN_KERNEL]; /* up to losses_told() */
	uint64_t recursion_now, recursion_before;
};

/* Those since the last losses_told(), by enum loss; LOSS_MISSED and
 * LOSS_UNPRINTED are 0: the attachment counts the one, stacksnoop the other. */
void losses_read(struct losses *l, uint64_t ret[LOSS_N]);

/* Hits of our own process, which were left out: not lost. Since the programs were loaded. */
uint64_t losses_own_hits(const struct object *object, uint32_t n_cpus);

/* What losses_read() gave counts as told; what came since is given the next time. */
void losses_told(struct losses *l);
