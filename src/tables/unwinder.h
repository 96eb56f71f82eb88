/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tables/unwinder.h - the thread "unwind tables": it publishes the mappings of processes and the
 * tables of their files to BPF. Children of the zygote read mappings and make tables
 * (files/files.h). It is a thread of its own, so that the main thread never waits for a table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"
#include "bpf/deferred.h"
#include "files/files.h"
#include "files/mappings.h"

struct files;
struct unwinder;

/*
 * Tables take at most @max_bytes. @object and @files are borrowed. Errors: those of starting the
 * thread.
 */
must_check int unwinder_start(struct object *object, uint64_t max_bytes, struct files *files,
			      struct unwinder **ret, struct error *e);

/*
 * No more hits come, so nobody needs what programs would use. From now on, the thread drops all
 * wishes but walks.
 */
void unwinder_last(struct unwinder *u);

/* Have the thread end after the wish that it works on. Does not wait. */
void unwinder_end(struct unwinder *u);

/*
 * Drop all wishes, end the thread, and describe its tables for --debug. False: a wish takes too
 * long (thread_join_soon()). Then nothing is freed, and the object and @files must stay.
 */
bool unwinder_stop(struct unwinder *u);

enum unwinder_wish {
	UNWINDER_NOW,      /* it was hit: before all others */
	UNWINDER_CHANGED,  /* its mappings have changed since the last reading */
	UNWINDER_SOMETIME, /* after all others */
};

/*
 * Wake the thread for wishes that wait. There may be thousands in a second, in batches. So
 * unwinder_over(), unwinder_file(), unwinder_walk(), and unwinder_look() with UNWINDER_CHANGED do
 * not wake it. Other wishes do, and begin the waiting ones as well.
 */
void unwinder_begin(struct unwinder *u);

/* The program of process @tgid ended at @time, ns of CLOCK_MONOTONIC. */
void unwinder_over(struct unwinder *u, uint32_t tgid, uint64_t time);

/*
 * Process @tgid has mapped a file as in @m. Its table serves all processes with such a mapping,
 * even before their mappings are read.
 */
void unwinder_file(struct unwinder *u, uint32_t tgid, const struct mapping *m);

/*
 * Read the mappings of process @tgid (again), and publish them. The number is of our PID namespace.
 * Forgets a process that has ended.
 */
void unwinder_look(struct unwinder *u, uint32_t tgid, enum unwinder_wish how);

/*
 * Wait until all wishes are fulfilled, but at most until @until (CLOCK_MONOTONIC, ns): a foreign
 * file may take long. During the end of the run, only until the wish at work is fulfilled. Returns
 * whether all are.
 */
bool unwinder_wait(struct unwinder *u, uint64_t until);

/*
 * The number of wishes so far, without UNWINDER_SOMETIME. Are so many fulfilled? This does not wait
 * for later ones.
 */
uint64_t unwinder_n_wishes(struct unwinder *u);
bool unwinder_has_done(struct unwinder *u, uint64_t n_wishes);

/* --- deferred hits --- */

/* The mappings of a process at the time of some hits. */
struct late_space {
	uint32_t n_users;             /* counted by the main thread */
	struct file_list list;        /* files without fact.is_there are not identified yet */
	struct unwind_mapping *found; /* the thread's, for each mapping */
	uint8_t *n_tries;             /* likewise */
	uint64_t key, epoch;          /* the caller's: of the process, and processes_epoch() */
};

/* Takes over @list. The caller is its first user. */
struct late_space *late_space_new(struct file_list *list);

/* One user less. The last one frees it. May be NULL. */
void late_space_drop(struct late_space *space);

/* A deferred hit on its way through the thread, which makes missing tables while it walks. */
struct late_job {
	struct recorded recorded;
	struct late_space *space; /* the job is a user of it */
	uint32_t most_frames;
	uint32_t n_words;
	uint64_t *words; /* the thread allocates them; late_job_fini() frees them */
	bool is_done;    /* atomic */
	/* The caller's: */
	uint64_t since; /* ns: when it was taken from the ring */
	bool is_given;  /* the tool has it; only the thread still uses it */
};

/*
 * Walk the stack of a deferred hit. @job is lent until it is done, or unwinder_stop() has returned
 * true.
 */
void unwinder_walk(struct unwinder *u, struct late_job *job);

/* Is it done, so that the thread no longer uses it? */
bool late_job_is_done(const struct late_job *job);

/* Clear and free the words, and drop the space. */
void late_job_fini(struct late_job *job);
