/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/processes.h - who ran what, where and when.
 *
 * The model of processes. While a process lives, /proc lists the mappings that it had before the
 * run began. Events (processes/sideband.h) report the changes since. So a stack gets the names of
 * the mappings at its own time, even if the process has ended or runs another program now.
 *
 * Without events, each report begins with another look at the processes that were hit. BPF counts
 * execs, so that a hit after an exec begins a new program. No question reads /proc.
 *
 * Times are ns of CLOCK_MONOTONIC. In a question, time 0 stands for now. A key is process_key():
 * the number and the life of a process.
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

/*
 * @files is borrowed and must live longer. Keeps at most @most_roots root directories open.
 * @is_followed: the caller passes all events to processes_event(). So answers about a past time are
 * right even if the process has ended or runs another program.
 */
struct processes *processes_new(struct remote_files *files, size_t most_roots, bool is_followed);
void processes_free(struct processes *ps);

/* The images that processes map. Lent by @ps. */
struct images *processes_images(const struct processes *ps);

/* --- input --- */

/* The consequences of an event, for tables and rows. */
struct process_news {
	/* A mapping has replaced another one: the same addresses mean other code from here on. */
	bool is_replaced;
	bool is_new_file; /* the mapped file has a new image */
	/* The other two are set only if processes_is_walked(): */
	bool has_mapped; /* the process has one more mapping */
	bool is_over;    /* the program, or its first thread, has ended */
};

/* Take one event. Events of one process come in the order of time. */
struct process_news processes_event(struct processes *ps, const struct process_event *event);

/*
 * The caller publishes the mappings of process @tgid to BPF. From here on, processes_event()
 * reports their changes, for the children that it forks, too.
 */
void processes_walk(struct processes *ps, uint32_t tgid);
bool processes_is_walked(const struct processes *ps, uint32_t tgid);

/*
 * After process_news.is_replaced: the next process that shares the memory of process @tgid, so that
 * its mapping is replaced as well. 0: no more. *@at: 0 at first.
 */
uint32_t processes_sharer(const struct processes *ps, uint32_t tgid, size_t *at);

/*
 * Read the mappings of process @tgid from /proc, unless they are complete or were forgotten, or a
 * try in this period has failed.
 */
void processes_look(struct processes *ps, uint32_t tgid);

/*
 * Try to read one process again whose list was late, if it is time. Returns its number; 0: none was
 * tried. processes_late_due() is the time of the next try; UINT64_MAX: no process is late.
 */
uint32_t processes_look_late(struct processes *ps);
uint64_t processes_late_due(const struct processes *ps);

/* The run ends: read the processes that were hit and are incomplete. Retries late lists until
 * @until. */
void processes_settle(struct processes *ps, uint64_t until);

/* The first hit of a life, as a notice reports it. */
struct sighting {
	uint64_t time;    /* 0: not known */
	uint64_t since;   /* when BPF counted its exec; 0: never; UINT64_MAX: not known */
	const char *comm; /* may be NULL */
	uint32_t user;    /* the real user, or USER_UNKNOWN */
};

/* The process with @key was hit for the first time. Reads its mappings if they are incomplete. */
void processes_seen(struct processes *ps, uint64_t key, const struct sighting *seen);

/*
 * A report begins: images_refresh(). Reads the processes that were hit and are incomplete, for a
 * moment at most. Programs that ended some seconds ago may be forgotten, if there are many and no
 * question was about them in this period or the one before.
 */
void processes_refresh(struct processes *ps);

/* --- questions; answers are copies --- */

/* The image and file offset of an address. */
struct place {
	uint64_t start;  /* start address of the region */
	uint64_t offset; /* of the address, in the image's file */
	uint32_t image;
	uint64_t limit; /* end address of the region */
};

/* The place of @addr of @key at @time. False: not known. */
bool processes_at(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr,
		  struct place *ret);

/* space_copied() of @addr of @key. */
uint32_t processes_copied(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr);

/*
 * The mappings of @key at @time, to be freed with remote_list_fini(). False: the program is not
 * known.
 */
struct remote_list;
bool processes_list(struct processes *ps, uint64_t key, uint64_t time, struct remote_list *ret);

/* space_epoch() of @key's space at @time; 0: not known. */
uint64_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time);

/* The name of @key's first thread at @time; else the name with its first hit; else "". */
void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES]);

/* One program of one process. */
struct program_run {
	uint32_t tgid;
	uint32_t user;    /* the real user when it was hit, or USER_UNKNOWN */
	uint64_t begin;   /* 0: not known, or before the run */
	uint64_t end;     /* UINT64_MAX: it runs, or its end is not known */
	int root;         /* its root directory, as roots_of(); or -1 */
	bool is_followed; /* events report its end */
	bool has_memory;  /* it has mapped memory with code at any time (images_is_memory()) */
};

/* The program of @key at @time. If it is not known, @ret has the process's number only. */
void processes_program(struct processes *ps, uint64_t key, uint64_t time, struct program_run *ret);

/* The newest program of process @tgid. False: it was not hit, or is not known. */
bool processes_hit(const struct processes *ps, uint32_t tgid, struct program_run *ret);

/* Losses of the bounds of memory, as counts. */
struct forgotten {
	uint64_t processes; /* ended processes that were hit */
	uint64_t mappings;  /* regions; most were replaced by others before */
};

struct forgotten processes_forgotten(const struct processes *ps);

/* Memory held, in bytes. */
size_t processes_bytes(const struct processes *ps);
