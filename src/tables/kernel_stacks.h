/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/kernel_stacks.h - have the programs walk kernel stacks by the kernel's own unwind tables.
 *
 * A thread copies the tables once counting has begun. Until it has published them, and wherever a
 * walk meets anything out of the ordinary, the kernel's helper walks.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "attach/object.h"
#include "kernel/host.h"

#define KERNEL_STACKS_MEMBERS 14

struct kernel_stacks {
	bool is_wanted;        /* the programs use the tables */
	struct object *object; /* lent; NULL: not begun */
	pthread_t thread;
	bool has_thread;
	bool must_end;                      /* the thread gives up */
	int end_fd;                         /* wakes the thread to end */
	enum orc_layout layout;             /* of the tables' entries */
	uint32_t at[KERNEL_STACKS_MEMBERS]; /* offsets of members, from the kernel's BTF */
};

/*
 * Have the programs of @o walk kernel stacks by tables, if this kernel lets them. @checks: compare
 * each with the helper's.
 */
void kernel_stacks_set_up(struct kernel_stacks *k, bool checks, struct object_options *o);

/* Begin to copy the tables. Does nothing if this run does not use any. @host is not kept. */
void kernel_stacks_begin(struct kernel_stacks *k, struct host *host, struct object *object);

/* End the thread. The object may go then. */
void kernel_stacks_end(struct kernel_stacks *k);

/*
 * Warn if the programs have stopped to use the tables, because a stack differed from the helper's.
 * With --debug, tell how many walks ended how.
 */
void kernel_stacks_describe(const struct kernel_stacks *k, uint32_t n_cpus);
