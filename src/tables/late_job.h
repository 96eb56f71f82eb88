/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/late_job.h - a deferred hit on its way through the unwinder's thread. The main thread
 * makes the job and gives it to unwinder_walk(). The thread walks, makes missing tables on the way,
 * and marks the job as done. Then it is the main thread's again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/deferred.h"
#include "reader/remote_files.h"
#include "tables/memory.h"
#include "tables/table_set.h"

/* The mappings of a process at the time of some hits. */
struct late_space {
	uint32_t n_users;             /* counted by the main thread */
	struct remote_list list;      /* files without fact.is_there are not identified yet */
	struct unwind_mapping *found; /* the thread's, for each mapping */
	uint8_t *n_tries;             /* likewise */
};

/* Takes over @list. The caller is its first user. */
struct late_space *late_space_new(struct remote_list *list);

/* One user less. The last one frees it. May be NULL. */
void late_space_drop(struct late_space *space);

struct late_job {
	struct recorded recorded;
	struct late_space *space; /* the job is a user of it */
	uint32_t most_frames;
	uint32_t n_words;
	uint64_t *words; /* the thread allocates them; late_job_fini() frees them */
	bool is_done;    /* atomic */
};

/* For the thread. */
void late_job_run(struct late_job *job, struct table_set *tables, const struct unwind_memory *m);

/* Is it done, so that the thread no longer uses it? */
bool late_job_is_done(const struct late_job *job);

/* Clear and free the words, and drop the space. */
void late_job_fini(struct late_job *job);
