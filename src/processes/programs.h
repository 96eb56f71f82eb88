/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/programs.h - what each process ran, and when: one program after the other.
 *
 * A program's run begins with fork or exec, and ends with exec or with the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "processes/comms.h"
#include "processes/space.h"

#define USER_UNKNOWN UINT32_MAX

/* One run of one program in one process. Times are ns of CLOCK_MONOTONIC. */
struct program {
	uint32_t tgid;
	bool is_exec;          /* it began with exec */
	bool is_forgotten;     /* soon */
	bool is_whole;         /* nothing was mapped that is not in it, and events tell the rest */
	bool is_seen;          /* it was hit */
	uint64_t begin;        /* 0: before it was followed */
	uint64_t end;          /* when another program or process followed; UINT64_MAX: none has */
	uint64_t exited;       /* when its first thread did; UINT64_MAX: it has not */
	uint64_t looked_at;    /* when it was read from /proc; 0: it was not */
	uint64_t looked_in;    /* the period in which it was tried last; 0: it was not */
	uint64_t kept;         /* the period in which it was asked for; 0: it was not */
	uint64_t walked;       /* when processes_walk() was called last; 0: never */
	uint32_t user;         /* the real one, with the hit; or USER_UNKNOWN */
	char comm[COMM_BYTES]; /* the last one; empty: not known, unless @is_named */
	bool is_named;         /* an event told it */
	uint64_t named_at;     /* when /proc did; 0: it did not */
	struct former_comms former;
	struct program *older; /* the one before, of the same number */
	struct space *space;
	struct mapper mapper;
};

/* Programs of all processes. */
struct programs {
	struct spaces spaces;
	struct u64_map newest;  /* tgid -> index in @heads */
	struct program **heads; /* the newest program of each process; may be NULL */
	size_t n_heads, cap_heads;
	size_t n, n_last;   /* programs, now and when those that are over were forgotten last */
	uint64_t n_dropped; /* programs that were asked for */
	size_t bytes;       /* of programs */
	size_t least;       /* programs_bytes() since programs_fit() forgot some */
	uint64_t period;
};

/* @images is kept. */
void programs_init(struct programs *all, struct images *images);
void programs_fini(struct programs *all);

/* The newest program of process @tgid; NULL: not known. */
struct program *programs_newest(const struct programs *all, uint32_t tgid);

/* The same; where it is not known, one of which nothing else is. */
struct program *programs_current(struct programs *all, uint32_t tgid);

/*
 * The program that process @tgid ran at @time (0: the newest); NULL: not known. BPF had counted the
 * process's last exec at @since (0: none; UINT64_MAX: not known). One that began later was not over
 * at @time: the program before it ran.
 */
struct program *programs_at(const struct programs *all, uint32_t tgid, uint64_t time,
			    uint64_t since);

/*
 * A program begins at @time, in @space, which is its own from here on. The one before is over.
 * What was read of that later was of this one.
 */
struct program *programs_begin(struct programs *all, uint32_t tgid, uint64_t time,
			       struct space *space);

/* Events since @since were lost: nothing that was known of a running process is taken for what it
 * does afterwards. */
void programs_lose(struct programs *all, uint64_t since);

/* BPF has counted an exec at @since: for those who have no event that tells it. */
void programs_begin_counted(struct programs *all, uint32_t tgid, uint64_t since);

/* The same for the end of processes: those that are not there any more. */
void programs_note_ended(struct programs *all, uint64_t now);

/*
 * Forget programs and mappings if all take too much; then programs that were asked for may be gone
 * (n_dropped), and a space may be space_is_forgotten(). Programs that are over and were not asked
 * for go first, those that run and were hit last.
 */
void programs_fit(struct programs *all, uint64_t now);

/* The same, and forget programs that are over for some seconds and were not asked for, if there are
 * many of them. */
void programs_bound(struct programs *all, uint64_t now);

/* Memory held, in bytes, with that of images. */
size_t programs_bytes(const struct programs *all);

/* Does it still run, as far as is known? */
bool program_runs(const struct program *program);

/* Is it whole, and was nothing forgotten since it was read? */
bool program_is_all_known(const struct program *program);

/* When it was over; UINT64_MAX: it runs. */
uint64_t program_over_at(const struct program *program);

/* When it, or without exec its process, began; 0: before it was followed. */
uint64_t program_began(const struct program *program);

/* A COMM event at @time. What /proc said may be this name already, or a later one. */
void program_rename(struct programs *all, struct program *program, const char *comm, uint64_t time);

/* Ask /proc for its name. */
void program_read_comm(struct program *program);

void program_set_comm(struct program *program, const char *comm);
bool program_has_comm(const struct program *program);

/* Its name at @time (0: the last); NULL: not known. Lent by @program. */
const char *program_comm(const struct program *program, uint64_t time);
