/*
 * symbolize/symbolize.h - addresses to frames.
 *
 * A return address is looked up at minus one, in one function, because a call
 * may be the last instruction of its function (noreturn); the offset and the
 * address shown are the return address's own, as bcc shows them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/host.h"
#include "processes/processes.h"
#include "symbolize/frame.h"

struct symbolizer;

/* When are two addresses the same frame? */
enum frame_identity {
	IDENTITY_FUNCTION, /* same function of the same file; unnamed: same place in the file */
	IDENTITY_OFFSET,   /* and same offset in it (-s) */
	IDENTITY_ADDRESS,  /* same address (-v, where it is shown: not in folded) */
};

struct symbolizer_options {
	struct remote_files *files; /* lent: what processes have mapped, and openers of it */
	struct remote_files *names; /* lent: parsers, and openers to send them files. Another client
				       than of @files, if that is asked while this one waits */
	enum frame_identity identity;
	bool places;        /* are shown of what has no name, also where it is in no file */
	bool raw_names;     /* as in the symbol table */
	bool lines;         /* with source lines, and inlined functions as frames of their own */
	size_t max_roots;   /* root directories that may be kept open; 0: as many as are of use */
	bool no_debuginfod; /* ask no server for symbols, whatever DEBUGINFOD_URLS says */
	uint32_t *helper; /* lent: holds the PID of a fetching process while it runs; NULL: none */
	void (*serve)(void *context); /* called again and again while a server is waited for */
	void *context;
};

struct symbolizer *symbolizer_new(struct host *host, const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *s);
void symbolizer_freep(struct symbolizer **s);

/*
 * A report begins: what was read of processes and modules may be old now, and an
 * address that has no name is looked for once more in what they have mapped.
 */
void symbolizer_refresh(struct symbolizer *s);

/*
 * A report is over: frames are forgotten if they take much memory, and numbers of frames are not
 * valid any more.
 */
void symbolizer_trim(struct symbolizer *s);

/*
 * From now on, processes are followed by symbolizer_event(), and what is asked of a process that
 * has ended, or runs another program, is answered by what it was.
 */
void symbolizer_follow(struct symbolizer *s);

/*
 * What a process does, in the order of time. Where something else is where it had a file, another
 * life should begin for it.
 */
struct process_news symbolizer_event(struct symbolizer *s, const struct process_event *event);

/* processes_walk(), processes_is_walked() */
void symbolizer_walk(struct symbolizer *s, uint32_t tgid);
bool symbolizer_is_walked(const struct symbolizer *s, uint32_t tgid);

/* Frames of what was forgotten may have no name. */
struct forgotten symbolizer_forgotten(const struct symbolizer *s);

/*
 * Code that processes make may be named otherwise by now, and no event tells of that: looks at each
 * perf map once, unless that was a moment ago.
 */
void symbolizer_look_again(struct symbolizer *s);

/*
 * A process in which something is where something else was, so that another life should begin for
 * it; 0: none (any more). What symbolizer_event() says of the event's process may be so of others
 * that have the same memory.
 */
uint32_t symbolizer_take_changed(struct symbolizer *s);

/* What is there already: a process that was not seen yet. */
void symbolizer_look(struct symbolizer *s, uint32_t tgid);

/* One that could not be read in time is read again, if that is due. Returns when the next one is
 * (ns of CLOCK_MONOTONIC; UINT64_MAX: none is). */
uint64_t symbolizer_look_late(struct symbolizer *s);

/* processes_settle() */
void symbolizer_settle(struct symbolizer *s, uint64_t until);

/*
 * A process was seen for the first time in this life. What it has mapped is read now, while it
 * lives, unless that is known.
 */
void symbolizer_process(struct symbolizer *s, uint64_t process, const struct sighting *seen);

/* The name, its first thread's, of a process that was hit at @time (0: not known); "" if never
 * known. Of process 0, the idle tasks, @process has the CPU and 1 as its life. Lent by @s. */
const char *symbolizer_comm(struct symbolizer *s, uint64_t process, uint64_t time);

/*
 * Where this is the same, whenever it was asked for, each address of the process that had a name
 * has the same one.
 */
uint64_t symbolizer_epoch(struct symbolizer *s, uint64_t process, uint64_t time);

/* While this is the same, what the process calls its code is, too: what had no name has none. */
uint32_t symbolizer_growth(struct symbolizer *s, uint64_t process, uint64_t time);

/* Where the kernel was. */
struct kernel_pc {
	uint64_t addr;
	uint64_t first, last; /* when it was there; ns of CLOCK_MONOTONIC, not later than now */
	bool is_exact;        /* not a return address */
};

/*
 * The number of the frame at @pc. Never fails: what cannot be named, or was surely
 * not the same all the time, is a frame without a name.
 */
uint32_t symbolize_kernel(struct symbolizer *s, const struct kernel_pc *pc);

/* For hits in this time, at least, the answers are the same. */
struct kernel_validity {
	uint64_t from, until;
};

/* That of all symbolize_kernel() since the last time that it was asked for. */
struct kernel_validity symbolizer_kernel_validity(struct symbolizer *s);

/* Where a process was. */
struct user_pc {
	uint64_t process; /* process_key() */
	uint64_t time;    /* when it was there, as far as is known (0: it is not) */
	uint64_t addr;
	bool is_exact;
	uint64_t epoch; /* symbolizer_epoch() of this process and time, or 0: takes longer */
};

/*
 * The numbers of the frames at @pc, innermost first. If lines were asked for, functions that were
 * inlined there stand before the function itself. Returns how many: at least one, and at most
 * @most, which must not be 0. Behind symbolizer_defer() it may return 0: it was put off.
 */
size_t symbolize_user(struct symbolizer *s, const struct user_pc *pc, uint32_t *to, size_t most);

/*
 * Names of files that are not known yet are put off from here on. symbolizer_fetch() finds out all
 * of them at once. To be repeated, with the naming, until it is false: nothing was put off, and
 * nothing will be.
 */
void symbolizer_defer(struct symbolizer *s);
bool symbolizer_fetch(struct symbolizer *s);

/* A mark: @kind is FRAME_CUT or FRAME_UNVERIFIED. */
uint32_t symbolize_mark(struct symbolizer *s, enum frame_kind kind, const char *reason);

/* Lent by @s; grows with every call above. */
const struct frame_table *symbolizer_frames(const struct symbolizer *s);

/* Why kernel frames have no names (kptr_restrict), or NULL. Lent by @s. */
const char *symbolizer_kernel_trouble(const struct symbolizer *s);
