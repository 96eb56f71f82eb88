/*
 * tool/run.h - one run, the same for all tools, and what each tool puts into it:
 *
 *	patterns -> targets -> plan -> programs and maps -> links -> counted -> printed
 *	\_____________________ shared _________________________/    \_ struct tool_parts _/
 *
 * Everything that lives during a run is owned here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/attach.h"
#include "base/error.h"
#include "bpf/object.h"
#include "kernel/host.h"
#include "match/target.h"
#include "store/losses.h"
#include "store/notices.h"
#include "symbolize/symbolize.h"
#include "tables/unwinder.h"
#include "tool/command.h"
#include "tool/follow.h"
#include "tool/helpers.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/ready.h"
#include "tool/unmapped.h"
#include "tool/wait.h"

struct run;

/* The tools' parts, in the order in which they are called. Those that may be NULL say so. */
struct tool_parts {
	bool counts_targets; /* each one by itself: two names of one place are one target */
	/* What the maps are to be large enough for, and what is to be taken at a hit. */
	int (*set_up)(struct run *r, struct object_options *options, struct error *e);
	/* The programs are loaded, and attached. */
	int (*open)(struct run *r, struct error *e);
	/* Count from now on. */
	int (*start)(struct run *r, struct error *e);
	/* The user is told that counting has begun. */
	int (*put_header)(struct run *r, struct error *e);
	/* How long to sleep at most: milliseconds, -1 for ever. NULL: for ever. */
	int (*patience_ms)(const struct run *r);
	/* Has slept that long, or something has happened. May be NULL. */
	int (*on_wake)(struct run *r, struct error *e);
	/* Who is told what processes do, from open() on. NULL: nobody wants to know. */
	struct symbolizer *(*names)(const struct run *r);
	/* The programs said so (bpf/abi.h), and it is not about processes. */
	void (*on_notice)(struct run *r, const struct notice *notice);
	/*
	 * The same while a report is named, printed, or waits for its reader. Errors wait for the
	 * next on_wake(). May be NULL.
	 */
	void (*on_serve)(struct run *r);
	/* --interval is over: report. May be NULL. */
	int (*on_interval)(struct run *r, struct error *e);
	/* Count no more. */
	int (*stop)(struct run *r, struct error *e);
	/* The last report. */
	int (*report)(struct run *r, struct error *e);
	/* What stands behind the command's end and before the probes are taken away. May be NULL.
	 */
	int (*put_last_line)(struct run *r, struct error *e);
	/* Free what is the tool's, however far it came. */
	void (*close)(struct run *r);
};

struct run {
	const struct options *opt;
	const struct tool_parts *tool;
	void *own; /* the tool's */
	struct helpers helpers;
	struct host *host;
	struct target_list targets;
	struct features features;
	struct plan plan;
	uint32_t n_cpus; /* possible ones */
	struct command command;
	enum target_by target_by; /* how the programs tell targets apart, the tool's choice */
	struct object *object;
	struct attachment *follower;
	struct attachment *lives;
	struct attachment *attachment;
	uint64_t missed_before; /* by the kernel at the probes, up to the last report */
	struct notices *notices;
	struct follower *processes; /* NULL: they are not followed */
	struct ahead *ahead;        /* tables, until the unwinder has them */
	struct unwinder *unwinder;  /* NULL: stacks are not walked by tables */
	struct unmapped unmapped;
	struct waiter waiter;
	struct output output;
	struct ready ready;
	size_t files_of_names; /* descriptors that names may keep open */
	bool is_enough;        /* the programs, or the tool, say that --events is reached */
	bool is_counting;      /* from the tool's start() until it stops, or a signal comes */
	uint64_t served_at;    /* ns: run_serve() */
	uint64_t ended_at;     /* ns: by a signal; 0: it is not */
};

/* Errors: of any room; nothing is left attached. @own is lent. */
must_check int run_tool(const struct tool_parts *tool, void *own, const struct options *opt,
			struct error *e);

/* Are unwind tables to be made, which helpers do? */
bool run_wants_helpers(const struct run *r);

/* What names the frames, with the user's options; @shows_places: see struct symbolizer_options. */
struct symbolizer *run_symbolizer(struct run *r, enum frame_identity identity, bool shows_places);

/* "Tracing 3 functions for ...", on standard error where standard output is for data alone. */
must_check int run_put_header(struct run *r, bool is_for_data, struct error *e);

/* A process has mapped something: what could not be walked may be now. */
void run_has_mapped(struct run *r);

/*
 * Capture goes on: what processes have done and what the programs say is read, and full maps are
 * emptied. To be called often while a report is made, named or printed; does nothing if it was
 * called a moment ago. Stacks, frames and names keep their numbers meanwhile.
 */
void run_serve(void *run);

/* What processes have done is told to the tool: see follower_read(). */
void run_follow(struct run *r, uint64_t until);

/* Give the programs what process @tgid has mapped, from now on. */
void run_walk(struct run *r, uint32_t tgid, enum unwinder_wish how);

/*
 * Those of @losses, and what the kernel missed at the probes. What was lost of processes is told.
 */
void run_losses(struct run *r, struct losses *losses, uint64_t ret[LOSS_N]);
