/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/run.h - the run that all tools share, and the parts that each tool adds.
 *
 *	patterns -> targets -> plan -> programs and maps -> links -> counted -> printed
 *	\_____________________ shared _________________________/    \_ struct tool_parts _/
 *
 * struct run owns everything that lives during a run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/attach.h"
#include "base/error.h"
#include "bpf/object.h"
#include "kernel/host.h"
#include "match/target.h"
#include "processes/processes.h"
#include "store/counters.h"
#include "store/rings.h"
#include "symbolize/symbolize.h"
#include "tables/kernel_stacks.h"
#include "tables/unwinder.h"
#include "tool/command.h"
#include "tool/deferral.h"
#include "tool/ending.h"
#include "tool/follow.h"
#include "tool/helpers.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/probing.h"
#include "tool/ready.h"
#include "tool/values.h"
#include "tool/wait.h"

struct run;

/* What run_losses() and the functions of tool/run_losses.h keep. */
struct loss_accounts {
	uint64_t missed_before;       /* hits that the kernel missed, up to the last report */
	struct samples_state samples; /* of the run's perf events, once they are over */
	/* Samples that the kernel, or samples_pace(), left out, up to the last report. */
	uint64_t skipped_before, slowed_before;
	bool is_sampled, is_over;
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
	/* The longest sleep in ms; -1: until something happens. NULL: the same. */
	int (*patience_ms)(const struct run *r);
	/* Called after each sleep, unless the run is over. May be NULL. */
	int (*on_wake)(struct run *r, struct error *e);
	/*
	 * Called for each notice (bpf/abi.h), after the run has handled its own part of it. May be
	 * NULL.
	 */
	void (*on_notice)(struct run *r, const struct notice *notice);
	/*
	 * Count a hit that the programs have deferred. Its user stack has @n @words. NULL: such
	 * stacks are cut.
	 */
	void (*on_deferred)(struct run *r, const struct recorded *hit, const uint64_t *words,
			    size_t n);
	/*
	 * The work of on_wake(), while a report is named, printed, or waits for its reader. Errors
	 * wait for the next on_wake(). May be NULL.
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
	void *own; /* the tool's state */
	struct helpers helpers;
	struct host *host;
	struct target_list targets;
	struct features features;
	struct plan plan;
	uint32_t n_cpus; /* possible CPUs */
	struct command command;
	struct values values; /* of hits: --sum, --value, --elapsed */
	/*
	 * How the programs tell targets apart, which have @n_numbers numbers: @numbers by target,
	 * lent by @values; NULL: its index.
	 */
	enum target_by target_by;
	const uint32_t *numbers;
	size_t n_numbers;
	bool counts_hits; /* of each target, for --debug */
	struct object *object;
	struct attachment *following; /* the programs that follow processes */
	struct attachment *attachment;
	struct loss_accounts accounts;
	struct pacing pacing;
	struct notices *notices;
	struct processes *processes;   /* NULL: without tool->has_stacks */
	struct symbolizer *symbolizer; /* likewise, from tool->open() on */
	struct follower *follow;       /* NULL: no events tell @processes of changes */
	struct unwinder *unwinder;     /* NULL: no unwind tables */
	struct kernel_stacks kernel_stacks;
	/* When to ask for the next NOTICE_UNMAPPED, in ns, by its is_walked. 0: none has come. */
	uint64_t ask_unmapped_at[2];
	uint64_t unmapped_pause_ns;
	struct deferral deferral;
	struct waiter waiter;
	struct output output;
	struct ready ready;
	uint64_t served_at;  /* ns: the end of the last run_serve() */
	uint64_t hear_until; /* ns: the end of this reading of notices */
	struct ending ending;
	bool writes_files; /* results go to files: keep the capabilities that this may need */
	bool is_enough;    /* --events hits are counted, or a report could not be written */
	bool is_counting;  /* from the tool's start() until its stop(), or until a signal */
	bool tells_end;    /* print a line before the probes are removed */
};

/* Do a whole run. @own is the tool's state, lent. Errors: of any room; nothing stays attached. */
must_check int run_tool(const struct tool_parts *tool, void *own, const struct options *opt,
			struct error *e);

/* Does the run take user stacks, so that it needs helpers? */
bool run_wants_helpers(const struct run *r);

/*
 * Make r->symbolizer with the user's options, in place of the former one. @shows_places:
 * symbolizer_options.places.
 */
void run_make_symbolizer(struct run *r, enum frame_identity identity, bool shows_places);

/*
 * Print "Tracing 3 functions for ...". With @is_for_data, standard output is for data alone, so the
 * line goes to standard error.
 */
must_check int run_put_header(struct run *r, bool is_for_data, struct error *e);

/* Warn once if kernel functions have no names. */
void run_warn_nameless(const struct run *r);

/* A process has mapped a file: ask for hits in unmapped code often again. */
void run_has_mapped(struct run *r);

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

/* Read the records of processes: see follower_read(). */
void run_follow(struct run *r, uint64_t until);

/*
 * Read the records of processes and the notices so far. Notices that take long wait for the next
 * call.
 */
void run_hear(struct run *r);

/* Publish the mappings of process @tgid to the BPF programs, now and whenever they change. */
void run_walk(struct run *r, uint32_t tgid, enum unwinder_wish how);

/* By enum loss, with their reasons, also those of 0. */
struct named_losses {
	struct profile_loss of[LOSS_N];
};

/*
 * The losses since the last report: those of @losses, and hits that the kernel missed at the
 * probes. Warns about lost records of processes.
 */
struct named_losses run_losses(struct run *r, struct losses *losses);
