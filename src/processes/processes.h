/*
 * processes/processes.h - who ran what, where and when.
 *
 * /proc says, while a process lives, what it had mapped before it was followed. Events say the rest
 * (processes/sideband.h). So a stack of a process that has ended, or runs another program now, is
 * named by what the process had mapped when the stack was taken.
 *
 * Without events, /proc is read again in each period in which the process is asked for. A program
 * begins then with its first hit, since the programs in the kernel count each exec, too.
 *
 * Times are ns of CLOCK_MONOTONIC; 0 is the newest time where a time is asked for. A key is
 * process_key(): the number of a process, and the one that BPF programs gave to what it ran.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes/comms.h"
#include "processes/images.h"
#include "processes/programs.h"
#include "processes/sideband.h"

struct processes;

/* @images is kept. */
struct processes *processes_new(struct images *images);
void processes_free(struct processes *ps);

/* From now on, events tell what processes do. */
void processes_follow(struct processes *ps);

/* --- what is told of processes --- */

/* What follows from an event. */
struct process_news {
	/* Another file is where the process had one mapped: the same addresses mean something else
	   from here on. */
	bool is_replaced;
	bool is_new_file; /* no process was known to have this file mapped */
	/* Of processes for which processes_walk() was called: */
	bool has_mapped; /* more */
	bool is_over;    /* the program, or its first thread, has ended */
};

/* In the order of time, at least for each process. */
struct process_news processes_event(struct processes *ps, const struct process_event *event);

/*
 * What process @tgid has mapped now is given to the programs in the kernel. From here on
 * processes_event() says when that changes, of the children that it forks, too.
 */
void processes_walk(struct processes *ps, uint32_t tgid);
bool processes_is_walked(const struct processes *ps, uint32_t tgid);

/* Another process of which that is so, as it has the same address space; 0: none any more. */
uint32_t processes_changed(struct processes *ps);

/* Process @tgid is looked at now, unless all is known of it already. */
void processes_look(struct processes *ps, uint32_t tgid);

/*
 * One of the processes whose lists did not come in time is looked at again, if that is due.
 * Returns it; 0: none was due. And when the next one is; UINT64_MAX: none was late.
 */
uint32_t processes_look_late(struct processes *ps);
uint64_t processes_late_due(const struct processes *ps);

/* The run ends: those that were hit and are not known are looked at now, until @until if late. */
void processes_settle(struct processes *ps, uint64_t until);

/* What is known of a process that was hit. */
struct sighting {
	uint64_t time;    /* 0: not known */
	uint64_t since;   /* when its exec was counted, 0: it never was; UINT64_MAX: not known */
	const char *comm; /* may be NULL */
	uint32_t user;    /* the real one, or USER_UNKNOWN */
};

/* The process with @key was hit for the first time. It is looked at while it lives. */
void processes_seen(struct processes *ps, uint64_t key, const struct sighting *seen);

/*
 * A report begins. What was not asked for since the last time may be forgotten, once it is over for
 * some seconds and there are many such.
 */
void processes_refresh(struct processes *ps);

/* --- questions; the answers are the caller's --- */

/* Where an address lies. */
struct place {
	uint64_t start;  /* of the region */
	uint64_t offset; /* of the address, in the image's file */
	uint32_t image;
};

/*
 * Where @addr of @key lay at @time; false: in nothing that is known. May read what the process has
 * mapped.
 */
bool processes_at(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr,
		  struct place *ret);

/* space_epoch() of what @key had mapped at @time. */
uint64_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time);

/* The name of @key at @time, its first thread's; "" if never known. */
void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES]);

/* One program of one process. */
struct program_run {
	uint32_t tgid;
	uint32_t user;    /* whose it was when it was hit, or USER_UNKNOWN */
	uint64_t begin;   /* 0: not known, or before it was followed */
	uint64_t end;     /* UINT64_MAX: it runs, or that is not told */
	int root;         /* that it had (roots_of()), or -1 */
	bool is_followed; /* its end is told */
	bool has_memory;  /* images_is_memory(), mapped at any time */
};

/* What @key ran at @time; where that is not known, only the process's number. */
void processes_program(struct processes *ps, uint64_t key, uint64_t time, struct program_run *ret);

/* What process @tgid runs, if that was hit; false: it was not. */
bool processes_hit(const struct processes *ps, uint32_t tgid, struct program_run *ret);

/* What was forgotten to bound memory. */
struct forgotten {
	uint64_t processes; /* that were hit, and have ended */
	uint64_t mappings;  /* most of them in the place of which there are others now */
};

struct forgotten processes_forgotten(const struct processes *ps);

/* Memory held, in bytes. */
size_t processes_bytes(const struct processes *ps);
