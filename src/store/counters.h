/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * store/counters.h - what the programs count without rows: hits that were not counted, by reason,
 * and funccount's hits of each target. The kernel never sets these counters back. The numbers of an
 * interval are the difference between two readings. So nothing is missed or counted twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"

/*
 * Reasons why a hit is not counted. Those of the programs (enum lost_reason of bpf/abi.h) come
 * first. Reports list the reasons in this order.
 */
enum loss {
	LOSS_BUDGET = LOST_IN_KERNEL,  /* our own memory, --max-memory */
	LOSS_UNPRINTED,                /* when a signal asked for the end */
	LOSS_RECURSION,                /* the kernel ran another BPF program on that CPU */
	LOSS_MISSED,                   /* the kernel missed the probe */
	LOSS_SKIPPED,                  /* the kernel counted the event, but ran no program */
	LOSS_SLOWED,                   /* see attachment_pace() */
	LOSS_HITS_N,                   /* number of the reasons above. Those below lose no hit: */
	LOSS_UNFINISHED = LOSS_HITS_N, /* pairs that have begun and not ended */
	LOSS_ENDED_ALONE,              /* ends without a beginning */
	LOSS_N,
};

/*
 * A reason in words, such as "no room in the kernel for a new row (see --max-memory)". A
 * constant.
 */
const char *loss_text(unsigned loss);

/*
 * Losses of a run. Owns no memory. Begin with { .object, .n_cpus }; the functions below set the
 * rest.
 */
struct losses {
	const struct object *object;
	uint32_t n_cpus;                                       /* possible CPUs */
	uint64_t n_over_budget, n_missed, n_skipped, n_slowed; /* all of the run; the owner's */
	uint64_t n_open;         /* pairs that have begun and not ended; likewise, at the end */
	uint64_t now[LOSS_N];    /* from loading to the last reading */
	uint64_t before[LOSS_N]; /* from loading to losses_reported() */
};

/*
 * Write the losses since the last losses_reported() into @ret, indexed by enum loss. LOSS_UNPRINTED
 * is 0: stacksnoop counts these.
 */
void losses_read(struct losses *l, uint64_t ret[LOSS_N]);

/*
 * A counter that is no loss, since the programs were loaded: OWN_HITS, SAMPLES or BEGUN of
 * bpf/abi.h. 0 if the kernel refuses to read it.
 */
uint64_t losses_counter(const struct object *object, uint32_t n_cpus, __u32 counter);

/* Mark the losses of the last losses_read() as reported. The next reading has only later ones. */
void losses_reported(struct losses *l);

/* --- the hits of each target --- */

struct calls;

/*
 * Bytes that counters of @n_targets targets take, in the kernel and in user space. @n_cpus counts
 * possible CPUs.
 */
uint64_t calls_bytes(size_t n_targets, uint32_t n_cpus);

/* @object must outlive the calls. */
struct calls *calls_new(const struct object *object, size_t n_targets, uint32_t n_cpus);
void calls_free(struct calls *c);

/* Begin to count. */
void calls_start(struct calls *c);

/*
 * Stop counting and wait for running programs. A later calls_read() is final. Errors: from the
 * system calls.
 */
must_check int calls_stop(struct calls *c, struct error *e);

/*
 * Returns the hits of each target since the last call, indexed by target number. @c lends the array
 * until the next one.
 */
const uint64_t *calls_read(struct calls *c);

struct losses *calls_losses(struct calls *c); /* lent by @c */
