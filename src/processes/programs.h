/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * processes/programs.h - the programs of each process, one after the other, with their times.
 *
 * A program begins with fork or exec. It ends with exec or with the process.
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
	bool is_exec;       /* it began with exec */
	bool is_forgotten;  /* marked: it will be freed soon */
	bool is_whole;      /* @space is complete, and events report all changes */
	bool is_seen;       /* it was hit */
	bool is_late;       /* the last try of a look brought no list in time */
	uint64_t begin;     /* 0: before the run */
	uint64_t end;       /* when the next program of this number began; UINT64_MAX: none has */
	uint64_t exited;    /* when its first thread ended; UINT64_MAX: it has not */
	uint64_t looked_at; /* time of the last look at /proc; 0: never */
	uint64_t looked_in; /* period of the last try of a look; 0: none */
	uint64_t kept;      /* period of the last question about it; 0: none */
	uint64_t walked;    /* when processes_walk() was called last; 0: never */
	uint32_t user;      /* the real user at the hit; or USER_UNKNOWN */
	char comm[COMM_BYTES]; /* the last name; empty: not known, unless @is_named */
	bool is_named;         /* an event reported @comm */
	uint64_t named_at;     /* when /proc gave a name; 0: never */
	struct former_comms former;
	struct program *older; /* the former program of this number */
	struct space *space;   /* one user of it is this program */
	struct mapper mapper;
};

/* Programs of all processes. */
struct programs {
	struct spaces spaces;
	struct u64_map newest;  /* tgid -> index in @heads */
	struct program **heads; /* the newest program of each process; may be NULL */
	size_t n_heads, cap_heads;
	uint64_t version;   /* changes when programs_at() may have other answers */
	size_t n, n_last;   /* programs: now, and after some were forgotten last */
	uint64_t n_dropped; /* programs that the bound of memory took, though reports need them */
	size_t bytes;       /* of programs, without spaces */
	size_t least;       /* lowest programs_bytes() since programs_fit() forgot some */
	uint64_t period;    /* the number of the present period; the first is 1 */
};

/* @images is borrowed and must live longer. */
void programs_init(struct programs *all, struct images *images);
void programs_fini(struct programs *all);

/* The newest program of process @tgid; NULL: not known. */
struct program *programs_newest(const struct programs *all, uint32_t tgid);

/* The same. If it is not known, adds an empty program that was there before the run. */
struct program *programs_current(struct programs *all, uint32_t tgid);

/*
 * The program of process @tgid at @time (0: the newest). NULL: not known. @since is the time of the
 * last exec that BPF had counted at @time; 0 if there was none, UINT64_MAX if not known. If the
 * program began with a later exec, that exec was not over at @time, and the result is the program
 * before.
 */
struct program *programs_at(const struct programs *all, uint32_t tgid, uint64_t time,
			    uint64_t since);

/*
 * A program begins at @time, and the former one ends. The program owns one use of @space. A look at
 * the former program after @time is taken back, because it saw the new one.
 */
struct program *programs_begin(struct programs *all, uint32_t tgid, uint64_t time,
			       struct space *space);

/* Events since @since were lost. Each running process begins a new, empty program at @since,
 * because its mappings may have changed. */
void programs_lose(struct programs *all, uint64_t since);

/* Without events: a program begins at @since, an exec that BPF has counted. Nothing happens if the
 * newest program is as new. @since as in programs_at(). */
void programs_begin_counted(struct programs *all, uint32_t tgid, uint64_t since);

/* Without events: note the end of processes that /proc does not have any more. */
void programs_note_ended(struct programs *all, uint64_t now);

/*
 * Forget ended programs without a question, if there are many. Forget programs and mappings if all
 * take more than 24 MiB: ended programs without a question go first, live programs that were hit
 * last. Frees programs: if n_dropped has changed, programs that somebody asked for are among them.
 * A live program stays, but its space may be space_is_forgotten().
 */
void programs_fit(struct programs *all, uint64_t now);

/* Memory in bytes, with that of held images. */
size_t programs_bytes(const struct programs *all);

/* No end of it is known. */
bool program_runs(const struct program *program);

/* Is its space complete, without a part that was forgotten since the last look? */
bool program_is_all_known(const struct program *program);

/* The time of its end; UINT64_MAX: it runs. */
uint64_t program_over_at(const struct program *program);

/* The time of its exec; of its process's begin, if it has had no exec; 0: before the run. */
uint64_t program_began(const struct program *program);

/* A COMM event at @time. A name that /proc gave later may be @comm or a later name, so it does not
 * become a former one. */
void program_rename(struct programs *all, struct program *program, const char *comm, uint64_t time);

/* Read its name from /proc. */
void program_read_comm(struct program *program);

void program_set_comm(struct program *program, const char *comm);
bool program_has_comm(const struct program *program);

/* Its name at @time (0: the last); NULL: not known. @program lends it until its name changes. */
const char *program_comm(const struct program *program, uint64_t time);
