// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/first_tables.h"

#include "base/clock.h"
#include "base/log.h"
#include "bpf/object.h"
#include "tables/unwinder.h"
#include "tool/run.h"

#define MOST_WAIT_NS (10 * NS_PER_S) /* of all waits of a run */
/* In this time, the records of 1,000 programs a second fill a tenth of their rings. */
#define SLICE_NS (NS_PER_S / 50)

int first_tables_start(struct run *r, struct error *e)
{
	if (!object_slab(r->object, 0))
		return 0;
	return unwinder_start(r->object, r->opt->unwind_memory, r->helpers.remote, &r->unwinder, e);
}

/*
 * Wait until the tables that are wished for are there. A file system of another user may be slow:
 * its tables come while the run counts. Records of processes must not wait for it.
 */
static void wait_for_tables(struct run *r)
{
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	const uint64_t until = begin + MOST_WAIT_NS - r->waited_for_tables_ns;
	uint64_t now = begin;
	bool is_done;

	do {
		run_follow(r, UINT64_MAX);
		is_done = unwinder_wait(r->unwinder, now + SLICE_NS);
		now = clock_ns(CLOCK_MONOTONIC);
	} while (!is_done && now < until && !r->output.must_end && !waiter_has_signal(&r->waiter));
	r->waited_for_tables_ns += now < until ? now - begin : until - begin;
	if (!is_done && now >= until)
		log_warn_once("files of traced processes are slow to read: the first user stacks "
			      "may be cut");
}

void first_tables_make(struct run *r)
{
	const struct command_files *files = &r->command.files;

	if (!r->unwinder)
		return;
	for (size_t i = 0; i < r->opt->pids.n; i++)
		run_walk(r, r->opt->pids.numbers[i], UNWINDER_NOW);
	for (size_t i = 0; i < files->n; i++)
		unwinder_file(r->unwinder, (uint32_t)r->command.pid, &files->files[i]);
	unwinder_begin(r->unwinder);
	wait_for_tables(r);
}
