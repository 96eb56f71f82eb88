/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/run.h - the run that all tools share, and the parts that each tool adds.
 *
 *	patterns -> targets -> plan -> programs and maps -> links -> counted -> printed
 *	\_____________________ shared _________________________/    \_ struct tool_parts _/
 *
 * struct run owns everything that lives during a run. Times are ns of CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/attach.h"
#include "attach/object.h"
#include "attach/value_code.h"
#include "base/aside.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "bpf/kernel_tables.h"
#include "files/files.h"
#include "files/zygote.h"
#include "kernel/host.h"
#include "match/patterns.h"
#include "match/target.h"
#include "processes/processes.h"
#include "profile/profile.h"
#include "store/counters.h"
#include "symbolize/symbolize.h"
#include "tables/deferral.h"
#include "tables/kernel_stacks.h"
#include "tables/unwinder.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/wait.h"

struct run;

struct command {
	pid_t pid; /* 0: none */
	/*
	 * A socket. A byte lets it exec, and closing the socket ends it. The child writes exec's
	 * errno; end of file: exec succeeded.
	 */
	int gate;
	int pidfd;      /* readable once it has ended; -1: there is none yet */
	int status;     /* of waitpid(2) */
	char *shown;    /* the name, escaped */
	bool is_killed; /* we ended it before its program began */
	/*
	 * The files that it is going to map: its program, the dynamic linker, and the libraries
	 * that it is linked with. Another process reads them, because they may be hostile, and
	 * $PATH may lead into a file system that does not answer. It goes on while this one loads
	 * and attaches.
	 */
	struct aside aside;
};

#define COMMAND_NONE                                          \
	{                                                     \
		.gate = -1, .pidfd = -1, .aside = ASIDE_NONE, \
	}

/*
 * The descriptors that a run opens after its start. They serve the maps' second level, 3 unwind
 * tables at a time, and the file with names. Perf events and kept files leave these free.
 */
#define FILES_OF_REST 16

/* Who asks for foreign files. */
enum {
	FOR_TABLES,    /* unwind tables: the thread that makes them */
	FOR_FOLLOWING, /* mappings and perf maps. Capture waits for a moment at most */
	FOR_NAMES,     /* symbols and source lines. Capture goes on meanwhile */
	PURPOSES
};
_Static_assert(PURPOSES == ZYGOTE_ASKERS, "a socket for each");

/* How samples of perf events are paced. */
struct pacing {
	uint64_t due; /* the next look: see probing_watch_samples() */
	bool is_slowness_told;
	struct hit_cost cost_seen;
	double price_ns; /* of a hit, measured or assumed; 0: not yet */
};

/*
 * The parts of a tool, in the order of their calls. A part may be NULL only if its comment says so.
 */
struct tool_parts {
	bool counts_targets; /* a count for each target; two names of one place are one target */
	bool has_stacks;     /* it names stacks; else the run follows no processes */
	/*
	 * Check and open the files of results, before anything else is done. run_tool() calls
	 * close() in any case. May be NULL.
	 */
	int (*prepare)(struct run *r, struct error *e);
	/*
	 * Set the sizes of maps and what a hit records, before the programs are loaded. run_tool()
	 * may find other targets and call it again.
	 */
	int (*set_up)(struct run *r, struct object_options *options, struct error *e);
	/*
	 * Make the tool's objects, with has_stacks run_make_symbolizer(), too. The programs are
	 * attached, but count nothing yet.
	 */
	void (*open)(struct run *r);
	/* Start counting. */
	void (*start)(struct run *r);
	/* Print that counting has begun, and set r->tells_end. */
	int (*put_header)(struct run *r, struct error *e);
	/* When on_wake() has work to do; UINT64_MAX: when something happens. NULL: the same. */
	uint64_t (*due)(const struct run *r);
	/* Called after each sleep, unless the run is over. May be NULL. */
	int (*on_wake)(struct run *r, struct error *e);
	/* Count a hit that the programs have deferred. The context is the run. NULL: such stacks
	 * are cut. */
	deferral_give *on_deferred;
	/*
	 * The part of on_wake() that cannot wait while something is named, printed, or waits for
	 * its reader. Errors wait for the next on_wake(). May be NULL.
	 */
	void (*on_serve)(struct run *r);
	/*
	 * Are all events before @until (ns of CLOCK_MONOTONIC) printed? NULL: hits are stored when
	 * they are made, or by on_deferred().
	 */
	bool (*has_printed)(const struct run *r, uint64_t until);
	/* Report, because --interval is over, or the user wants it now (SIGUSR1). May be NULL. */
	int (*on_interval)(struct run *r, struct error *e);
	/* Stop counting. */
	int (*stop)(struct run *r, struct error *e);
	/* Print the last report. */
	int (*report)(struct run *r, struct error *e);
	/* Free the tool's objects. The run may have failed before open(). */
	void (*close)(struct run *r);
};

struct run {
	const struct options *opt;
	const struct tool_parts *tool;
	void *own;            /* the tool's state */
	struct zygote zygote; /* makes the processes that open and read foreign files */
	struct places *places;
	struct files *files[PURPOSES]; /* without a zygote, all questions fail */
	struct host *host;
	struct target_list targets;
	struct features features;
	struct plan plan;
	uint32_t n_cpus; /* possible CPUs */
	int held_files[FILES_OF_REST];
	size_t n_held_files; /* they keep places for the rest of the run */
	struct command command;
	struct values values; /* of hits: --sum, --value, --elapsed */
	struct value_code value_code;
	bool counts_hits; /* of each target, for --debug */
	struct object *object;
	struct attachment *attachment;
	struct pacing pacing;
	struct notices *notices;
	struct processes *processes;   /* NULL: without tool->has_stacks */
	struct symbolizer *symbolizer; /* likewise, from tool->open() on */
	struct follower *follow;       /* NULL: the run takes no user stacks */
	struct unwinder *unwinder;     /* NULL: no unwind tables */
	struct kernel_stacks kernel_stacks;
	/* When to ask for the next NOTICE_UNMAPPED, by its is_walked. UINT64_MAX: none has come. */
	uint64_t ask_unmapped_at[2];
	struct deferral deferral;
	struct waiter waiter;
	struct output output;
	struct ready *ready;
	uint64_t served_at;  /* ns: the end of the last run_serve() */
	uint64_t hear_until; /* ns: the end of this reading of notices */
	struct ending *ending;
	bool writes_files; /* results go to files: keep the capabilities that this may need */
	bool is_enough;    /* --events hits are counted, or a report could not be written */
	bool is_filling;   /* NOTICE_FILLING has come, and the tool has not made room */
	bool has_events;   /* of stacksnoop: NOTICE_EVENTS has come, and there may be more */
	bool is_counting;  /* from the tool's start() until its stop(), or until a signal */
	bool tells_end;    /* print a line before the probes are removed */
};

/* Do a whole run. @own is the tool's state, lent. Errors: of any room; nothing stays attached. */
must_check int run_tool(const struct tool_parts *tool, void *own, const struct options *opt,
			struct error *e);

/* Make r->symbolizer with the user's options, in place of the former one. */
void run_make_symbolizer(struct run *r, enum frame_identity identity);

/*
 * Print "Tracing 3 functions for ...". With @is_for_data, standard output is for data alone, so the
 * line goes to standard error.
 */
must_check int run_put_header(struct run *r, bool is_for_data, struct error *e);

/* Warn once if kernel functions have no names. */
void run_warn_nameless(const struct run *r);

/*
 * Keep capture going: read the records of processes and the notices, and empty full maps. Call it
 * often while a report is made, named or printed. It does nothing if its last call was a moment
 * ago. Numbers of stacks and frames stay valid.
 */
void run_serve(void *run);

/*
 * A report begins: processes_refresh(), up to 0.25 s for processes_read_hit(), and
 * symbolizer_refresh().
 */
void run_refresh(struct run *r);

/*
 * Read the records of processes and the notices so far. Notices that take long wait for the next
 * call.
 */
void run_hear(void *run);

/* Publish the mappings of process @tgid to the BPF programs, now and whenever they change. */
void run_walk(struct run *r, uint32_t tgid, enum unwinder_wish how);

/*
 * The losses since the last report, by enum loss, with their reasons, also those of 0: those of
 * @losses, and hits that the kernel missed at the probes. Warns about lost records of processes.
 */
void run_losses(struct run *r, struct losses *losses, struct profile_loss ret[LOSS_N]);

/*
 * The mean price of a hit in the traced program, in ns, since the last call with *@before, which
 * begins zeroed: the time that our program takes. The kernel's price of the probe itself comes on
 * top. 0: not measured, with fewer than 65 hits on each CPU (16 samples), or in funccount.
 */
double hits_cost_ns(const struct run *r, struct hit_cost *before);

/* The end of a run: call it after each record of a process. False: leave the others for the end. */
bool ending_has_time(struct run *r);

/* Has a signal ended the run? Looks for one each TICK_NS. */
bool ending_has_signal(struct run *r);

/* Has a signal come, or is the time up? What only later hits need can be left out then. */
bool ending_is_near(void *run);

/* --- the command behind "--" (tool/command.c) --- */

/*
 * Check that the program exists, and fork the command. It waits before its exec. Errors: no such
 * program on PATH; fork.
 */
must_check int command_hold(struct run *r, struct error *e);

/*
 * Wait for the files, have their tables made, and end the process. Leaves out what cannot be found
 * or read. Call it before counting begins, so that the process causes no hits.
 */
void command_find_files(struct run *r);

/*
 * Let the command exec, and wait until it has. It may hang in a file system that does not answer,
 * so the run is served meanwhile. If the run must end, the command has one second more, and is then
 * killed. Errors: exec failed; the command has ended then.
 */
must_check int command_exec(struct run *r, struct error *e);

/* Has it ended? Fills in c->status. */
bool command_has_ended(struct command *c);

/*
 * Append "'ls' exited with status 3", "'ls' was ended by signal 9 (Killed)" or "'ls' still runs".
 */
void command_describe(const struct command *c, struct strbuf *to);

/* Close all descriptors. A command that has not begun ends; one that runs goes on. */
void command_fini(struct command *c);

/* --- privileges (tool/privileges.c) --- */

/*
 * The main process gives up privileges when everything is attached, because it still reads bytes
 * that foreign processes control. If it cannot give something up, --debug prints that.
 */

/*
 * Give up all capabilities but those for counting and those @for_files of the user, in this thread
 * and those that it makes later. A command that is held keeps its own. The ones for files stay
 * permitted, but have no effect except between the next two functions.
 */
void privileges_keep(bool for_files);

/*
 * Let the capabilities for the user's files (of -o) have effect, in this thread. Returns a number
 * for privileges_take_back(), which restores the former state.
 */
uint64_t privileges_lend_files(void);
void privileges_take_back(const uint64_t *before);

/*
 * Give up everything for good: real and effective user, and all capabilities. Call it before
 * foreign files are read by a run that needs no privilege. A set-user-ID program becomes its user.
 * Errors: the kernel refuses it.
 */
must_check int privileges_leave(struct error *e);

/*
 * In all threads, gain no privilege by execve(2), and deny system calls that counting does not
 * need. Deny execve(2) itself, too, unless @executes. Call it when the command runs.
 */
void privileges_seal(bool executes);

/* --- the list of targets (tool/listing.c) --- */

/* Append @t in the form of a pattern, escaped. */
void put_target(const struct target *t, struct strbuf *to);

/*
 * Print the targets that a run would trace, one on a line. With -v, the values follow that an
 * expression can name, one on an indented line. Errors: of patterns_match(), values_choose() and
 * value_list_each().
 */
must_check int list_targets(const struct options *opt, struct error *e);

/* --- probes (tool/probing.c) --- */

/* The groups of features (an OR of enum feature_group) that the patterns' targets depend on. */
unsigned patterns_need_features(const struct patterns *p);

/*
 * Set what the programs need for values, which is nothing if hits have none. Takes the memory of
 * pairs that have begun from *@bytes. Errors: -E2BIG.
 */
must_check int set_up_values(struct run *r, uint64_t *bytes, struct object_options *o,
			     struct error *e);

/*
 * Check the user's choice and what the kernel lacks, find the targets, and choose a backend for
 * each. Errors: of these; a target has no backend.
 */
must_check int probing_prepare(struct run *r, struct error *e);

/* Load programs and maps. Errors: from the kernel, with the likely reason. */
must_check int probing_load(struct run *r, struct error *e);

/* Would a report hit the probes all the time? */
bool probing_hits_report(const struct run *r);

/*
 * Attach every target, and warn about refusals. Errors: all were refused; -ENOENT, the kernel does
 * not know a function that the user named in full.
 */
must_check int probing_attach(struct run *r, struct error *e);

/* Print the hits of each target (--debug). */
void probing_describe(const struct run *r);

/*
 * Put perf events on CPUs that have come online, and hold the share of a CPU that samples take.
 * Returns when it wants to be called again; UINT64_MAX: never.
 */
uint64_t probing_watch_samples(struct run *r);

/* --- processes (tool/follow.c) --- */

/*
 * Follow processes during a run, for names and unwind tables. The model learns of their events
 * first (processes/processes.h), then perf maps, the unwinder and the BPF programs of the
 * consequences. Without r->follow, nothing of this does anything.
 */
struct follower;

/* Follow all processes from now on: makes r->follow. Errors: of sideband_open(); from epoll. */
must_check int follower_open(struct run *r, struct error *e);
void follower_close(struct follower *f);

/*
 * Handle the records of processes, at least all before @until (ns of CLOCK_MONOTONIC; UINT64_MAX:
 * all until now). At the end of a run, only while there is time (ending_has_time()).
 */
void run_follow(struct run *r, uint64_t until);

/*
 * The run ends, and has no time for the records and the @n_notices notices that are left: give them
 * up, as losses.
 */
void follower_drop(struct run *r, size_t n_notices);

/* Read the mappings of some processes that ran before the run, for a few ms. Are there more? */
bool follower_look(struct run *r);

/* Are all records from before @since (ns of CLOCK_MONOTONIC) handled? */
bool follower_has_read(const struct run *r, uint64_t since);

/* Warn about lost records and forgotten processes, if there are any since the last call. */
void follower_tell_losses(struct run *r);

/* --- the tools --- */

/* Runs of stackcount, stacksnoop and funccount. Errors: of any room; nothing stays attached. */
must_check int count_stacks(const struct options *opt, struct error *e);
must_check int snoop_stacks(const struct options *opt, struct error *e);
must_check int count_functions(const struct options *opt, struct error *e);

/*
 * --read, which traces nothing: read files and report them. The files may come from anyone, so all
 * privileges are given up before the first is opened. Errors: those of saved_read(), with the
 * file's name; of writing; -EINVAL: the values of two profiles differ in name or unit.
 */
must_check int read_files(const struct options *opt, struct error *e);
