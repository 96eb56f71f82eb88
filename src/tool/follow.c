// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "processes/sideband.h"

#define LOOK_NS 5000000 /* follower_look() ends after this time */

struct follower {
	struct sideband *sideband;
	DIR *proc;                /* NULL: follower_look() has seen all processes */
	struct life_count *lives; /* NULL: not by PIDs of our namespace */
	uint64_t n_lost;          /* records, not in a warning yet */
	struct forgotten told;
	bool has_lost; /* @n_lost of them; 0: an unknown number */
};

int follower_open(struct run *r, struct error *e)
{
	struct follower *f = xcalloc(1, sizeof(*f));
	uint64_t dev, ino;

	/* A command and its children begin later. */
	f->proc = r->opt->command ? NULL : opendir("/proc");

	const int err = sideband_open(0, &f->sideband, e);

	if (err) {
		follower_close(f);
		return err;
	}
	if (host_has_shifted_clock())
		log_warn(
			"the clock of this time namespace is not the kernel's: frames may be [unknown]");
	if (host_in_initial_pid_namespace(&dev, &ino))
		f->lives = object_maps(r->object)->lives;
	r->follow = f;
	return waiter_watch(&r->waiter, sideband_fd(f->sideband), OCCASION_PROCESSES, e);
}

void follower_close(struct follower *f)
{
	if (!f)
		return;
	sideband_close(f->sideband);
	if (f->proc)
		(void)closedir(f->proc);
	free(f);
}

/* Let later hits belong to another life, though the process runs the same program. */
static void begin_life(const struct follower *f, uint32_t tgid)
{
	if (f->lives)
		(void)__atomic_fetch_add(&f->lives[tgid % LIVES].n_raised, 1, __ATOMIC_RELAXED);
}

/* Only the BPF programs know a command's children, so all processes are wanted then. */
static bool is_chosen_process(const struct run *r, uint32_t tgid)
{
	const struct number_list *pids = &r->opt->pids;

	for (size_t i = 0; i < pids->n; i++)
		if (pids->numbers[i] == tgid)
			return true;
	return !pids->n;
}

/* Perf maps are read while their programs run, and at the end. */
static void tell_perf_maps(const struct run *r, const struct process_event *event)
{
	struct program_run program;

	if (event->type == PROCESS_EXEC ||
	    (event->type == PROCESS_EXIT && event->pid == event->tid))
		symbolizer_ended(r->symbolizer, event->pid, event->time);
	if (event->type == PROCESS_MAP && processes_hit(r->processes, event->pid, &program))
		symbolizer_watch(r->symbolizer, &program);
}

static int handle_process_event(void *context, const struct process_event *event)
{
	struct run *r = context;
	struct follower *f = r->follow;

	if (event->type == PROCESS_LOST) {
		f->n_lost += event->n_lost;
		f->has_lost = true;
		if (f->proc) /* follower_look() reads the mappings of all processes once more */
			rewinddir(f->proc);
		else
			f->proc = opendir("/proc");
	}

	const struct process_news news = processes_event(r->processes, event);

	tell_perf_maps(r, event);
	if (r->unwinder && news.is_over)
		unwinder_over(r->unwinder, event->pid, event->time);
	if (r->unwinder && news.is_new_file && is_chosen_process(r, event->pid))
		unwinder_file(r->unwinder, event->pid, &event->map);
	if (r->unwinder && news.has_mapped)
		unwinder_look(r->unwinder, event->pid, UNWINDER_CHANGED);
	if (news.is_replaced)
		begin_life(f, event->pid);
	return !ending_has_time(r);
}

void run_follow(struct run *r, uint64_t until)
{
	if (!r->follow)
		return;
	if (until >= sideband_until(r->follow->sideband) && ending_has_time(r))
		(void)sideband_read(r->follow->sideband, handle_process_event, r);
	if (r->unwinder)
		unwinder_begin(r->unwinder);
}

bool follower_has_read(const struct run *r, uint64_t since)
{
	return !r->follow || sideband_until(r->follow->sideband) >= since;
}

void follower_drop(struct run *r, size_t n_notices)
{
	struct follower *f = r->follow;

	if (!f)
		return;
	sideband_drop(f->sideband, handle_process_event, r);
	f->n_lost += n_notices;
	f->has_lost = f->has_lost || n_notices;
}

/*
 * With -p or a command, publish only processes that were published before: records of their
 * mappings may have been lost.
 */
static void read_mappings_of(struct run *r, uint32_t tgid)
{
	if (!is_chosen_process(r, tgid))
		return;
	processes_look(r->processes, tgid);
	if (!r->opt->pids.n && !r->opt->command)
		run_walk(r, tgid, UNWINDER_SOMETIME);
	else if (processes_is_walked(r->processes, tgid))
		run_walk(r, tgid, UNWINDER_CHANGED);
}

bool follower_look(struct run *r)
{
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct follower *f = r->follow;
	const struct dirent *entry;

	if (!f)
		return false;
	while (f->proc && clock_ns(CLOCK_MONOTONIC) - begin < LOOK_NS) {
		entry = readdir(f->proc);
		if (!entry) {
			(void)closedir(f->proc);
			f->proc = NULL;
		} else if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
			read_mappings_of(r, (uint32_t)strtoul(entry->d_name, NULL, 10));
		}
	}
	if (r->unwinder)
		unwinder_begin(r->unwinder);
	return f->proc != NULL;
}

static void tell_forgotten(uint64_t n, const char *what)
{
	if (n)
		log_warn("process history is full: forgot %" PRIu64
			 " %s, whose frames may be [unknown]",
			 n, what);
}

void follower_tell_losses(struct run *r)
{
	struct follower *f = r->follow;
	struct forgotten now;

	if (!f)
		return;
	now = processes_forgotten(r->processes);
	if (f->has_lost && f->n_lost)
		log_warn("lost %" PRIu64
			 " process records: some frames and processes may be [unknown]",
			 f->n_lost);
	else if (f->has_lost)
		log_warn("lost process records: some frames and processes may be [unknown]");
	f->n_lost = 0;
	f->has_lost = false;
	tell_forgotten(now.processes - f->told.processes, "ended processes");
	tell_forgotten(now.mappings - f->told.mappings, "mappings");
	f->told = now;
}
