/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/symbolize.h - addresses to frames.
 *
 * The look-up of a return address is at minus one (place_look_up_at()), because a call may be the
 * last instruction of its function. The report shows the offset and address of the return address
 * itself, as bcc does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/host.h"
#include "processes/processes.h"
#include "profile/frame.h"

struct symbolizer;

/* When are two addresses the same frame? */
enum frame_identity {
	IDENTITY_FUNCTION, /* same function of the same file; nameless: same function start */
	IDENTITY_OFFSET,   /* also the same offset in the function (-s) */
	IDENTITY_PLACE,    /* same address in the same file, in all processes */
	IDENTITY_ADDRESS,  /* same address (-v, in formats that show it: not in folded) */
};

struct symbolizer_options {
	struct remote_files *names; /* borrowed: parsers, and openers that send them files. A client
				       of its own, if @serve reads events while this one waits */
	enum frame_identity identity;
	bool places;        /* the report shows addresses of nameless code, even in no file */
	bool raw_names;     /* names as in the symbol table, not demangled */
	bool lines;         /* with source lines, and inlined functions as frames of their own */
	bool no_names;      /* no names of user code in files; kernel and JIT code have them */
	bool no_debuginfod; /* ask no server for symbols, whatever DEBUGINFOD_URLS says */
	uint32_t *helper;   /* borrowed: the PID of the fetcher while it runs; NULL: not wanted */
	void (*serve)(void *context); /* called repeatedly during a wait for a server */
	void *context;
};

/* @host and @processes are borrowed and must live longer. Nothing here changes @processes. */
struct symbolizer *symbolizer_new(struct host *host, struct processes *processes,
				  const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *s);
void symbolizer_freep(struct symbolizer **s);

/*
 * A report begins, after processes_refresh(). The first questions of the report look for changes of
 * modules and perf maps. A name that nobody could look up has another chance.
 */
void symbolizer_refresh(struct symbolizer *s);

/*
 * A report is over. Forgets frames if they take much memory. Frame numbers are not valid any more.
 */
void symbolizer_trim(struct symbolizer *s);

/*
 * The program @p was hit. If it may have a perf map, follow that, so that it is read before the
 * program ends.
 */
void symbolizer_watch(struct symbolizer *s, const struct program_run *p);

/* The program of process @tgid ended at @time. */
void symbolizer_ended(struct symbolizer *s, uint32_t tgid, uint64_t time);

/* The name of the process's first thread at @time (0: not known); "" if never known. For the idle
 * tasks (process 0), the life in @process is the CPU plus 1. @s lends the name. */
const char *symbolizer_comm(struct symbolizer *s, uint64_t process, uint64_t time);

/* processes_epoch() of the model. */
uint64_t symbolizer_epoch(const struct symbolizer *s, uint64_t process, uint64_t time);

/* While this number is the same, JIT code of the process has the same names. */
uint32_t symbolizer_growth(struct symbolizer *s, uint64_t process, uint64_t time);

/* An address in the kernel, from a stack. */
struct kernel_pc {
	uint64_t addr;
	uint64_t time; /* of its first hit, ns of CLOCK_MONOTONIC */
	bool is_exact; /* not a return address */
};

/*
 * The number of the frame at @pc. Never fails: the frame has no name if no function is known that
 * was there all the time.
 */
uint32_t symbolize_kernel(struct symbolizer *s, const struct kernel_pc *pc);

/* A time in which answers are the same for all hits. */
struct kernel_validity {
	uint64_t from, until;
};

/* The common validity of all answers of symbolize_kernel() since the last call. */
struct kernel_validity symbolizer_kernel_validity(struct symbolizer *s);

/* An address in a process, from a stack. */
struct user_pc {
	uint64_t process; /* process_key() */
	uint64_t time;    /* of the hit; 0: not known */
	uint64_t addr;
	bool is_exact;  /* not a return address */
	uint64_t epoch; /* symbolizer_epoch() of this process and time; 0 is right but slower */
};

/*
 * The numbers of the frames at @pc, innermost first. With options.lines, inlined functions stand
 * before the function itself. Returns their number, from 1 to @most, which must not be 0. After
 * symbolizer_defer() it returns 0 if the name is put off.
 */
size_t symbolize_user(struct symbolizer *s, const struct user_pc *pc, uint32_t *to, size_t most);

/*
 * After symbolizer_defer(), symbolize_user() puts off unknown names of files. symbolizer_fetch()
 * asks for all of them at once. Repeat naming and fetching until it returns false: no name was put
 * off, and none will be. symbolizer_defer() may forget names that no frame has yet.
 */
void symbolizer_defer(struct symbolizer *s);
bool symbolizer_fetch(struct symbolizer *s);

/* After symbolizer_defer(), put off the name at @pc if it is not known. Makes no frame. */
void symbolizer_want(struct symbolizer *s, const struct user_pc *pc);

/* The number of names that are put off. */
size_t symbolizer_n_put_off(const struct symbolizer *s);

/* The number of a mark: @kind is FRAME_CUT or FRAME_UNVERIFIED. */
uint32_t symbolize_mark(struct symbolizer *s, enum frame_kind kind, const char *reason);

/* @s lends the table. Every call above may add frames. */
const struct frame_table *symbolizer_frames(const struct symbolizer *s);

/* The reason why kernel frames have no names (kptr_restrict), or NULL. @s lends it. */
const char *symbolizer_kernel_trouble(const struct symbolizer *s);
