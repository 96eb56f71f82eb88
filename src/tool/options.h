/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/options.h - the command line, and every option of every tool, once. The parser, --help and
 * the completions of shells are made from the table. option_table.c links with nothing else,
 * because scripts/completions/generate.c runs while the program is built.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "attach/plan.h"
#include "base/error.h"
#include "match/numbers.h"
#include "match/patterns.h"

#ifndef VERSION
#define VERSION "0.1" /* of --version */
#endif

/* The names of the program. */
enum tool { TOOL_STACKCOUNT, TOOL_STACKSNOOP, TOOL_FUNCCOUNT, TOOL_PROFILE, TOOL_N };

const char *tool_name(enum tool tool); /* "stacksnoop" */

/*
 * The tool of that name, by the last component of @path (argv[0]). TOOL_STACKCOUNT if there is
 * none, or if @path is NULL.
 */
enum tool tool_called(const char *path);

/* In options.avoid: search the tables for every frame's rule, without the recent rules. */
#define AVOID_RECENT_RULES (1U << BACKEND_N)
/* Likewise: compare every kernel stack with the helper's. */
#define AVOID_TRUST (2U << BACKEND_N)
/* Likewise: do without bpf_rdonly_cast(), as on kernels before Linux 6.2. */
#define AVOID_LOADS (4U << BACKEND_N)

#define MOST_OUTPUTS 16
#define TOP_UNSET UINT64_MAX

/*
 * Strings are lent by argv. The list of patterns is static. If a tool lacks an option, its member
 * is zero.
 */
struct options {
	enum tool tool;
	char *const *argv;        /* the command line, NULL-terminated */
	struct patterns patterns; /* with @read, the texts are files */
	char *const *command;     /* NULL-terminated; NULL: none */
	struct number_list pids;
	struct number_list tids; /* threads */
	struct number_list cpus;
	uint64_t interval_ns; /* 0: one report, at the end */
	uint64_t duration_ns; /* 0: until a signal */
	uint64_t max_events;  /* 0: any number */
	uint64_t min_count;
	uint64_t top;                      /* 0, and TOP_UNSET: all */
	uint64_t max_depth;                /* frames of each stack, 0: all */
	uint64_t max_memory;               /* bytes, in the kernel and in user space */
	uint64_t unwind_memory;            /* bytes of unwind tables, in addition */
	uint64_t ready_fd;                 /* 0: none */
	uint64_t frequency;                /* of perf events, samples in a second; 0: by default */
	uint64_t period;                   /* likewise, events for a sample */
	uint64_t ignored;                  /* of an option without effect */
	unsigned avoid;                    /* 1 << enum backend, and AVOID_*, an OR */
	bool unwind_by_fp;                 /* user stacks; else by tables, where code has them */
	const char *outputs[MOST_OUTPUTS]; /* files of -o */
	size_t n_outputs;
	const char *format; /* of standard output, by -f, too; NULL: the usual one, if any */
	const char **minus; /* files whose counts are subtracted */
	size_t n_minus;
	/* The first option of the command line that --read excludes; NULL: none. */
	const struct option_row *of_tracing;
	double min_percent; /* trees: leave out what has less; 0: nothing */
	bool to_standard;   /* -o -: standard output, too */
	bool tree;          /* --format tree */
	bool invert;        /* callees first */
	bool read;          /* files instead of tracing */
	bool normalize;     /* the sums of the sides of a difference */
	bool no_names;      /* of user code in files */
	bool quiet;         /* print no progress */
	bool live;          /* show a tree on the terminal meanwhile */
	bool include_idle;  /* profile: sample idle CPUs, too */
	bool annotated;     /* profile: mark kernel frames */
	bool timestamp;     /* of stacksnoop's events: the time of day */
	bool offset;
	bool per_process;
	bool kernel_only;
	bool user_only;
	bool verbose; /* raw addresses; stacksnoop: command, PID, CPU; funccount: the total */
	bool delimited;
	bool folded;
	bool json; /* never with folded */
	bool lines;
	bool no_debuginfod;
	bool kernel_by_helper; /* --kernel-unwind helper */
	bool has_until;
	bool debug;
	bool self; /* count our own hits, too */
	bool list;
	bool help;
	bool version;
};

/*
 * Parse the command line of the tool that argv[0] names. Errors: -EINVAL, the message names the
 * option; -E2BIG, too many patterns.
 */
must_check int options_parse(int argc, char *const *argv, struct options *ret, struct error *e);
void options_fini(struct options *opt);

/*
 * Check and parse what the options name: the patterns, the forms of files, the descriptor. Call it
 * before anything is opened. Errors: of patterns_parse() and reports_check(); -EBADF; -EINVAL.
 */
must_check int options_check(struct options *opt, struct error *e);

void options_help(enum tool tool, FILE *to);

/* --- the table of options --- */

/* The type of an option's value, and of the member that takes it. */
enum option_key {
	OPTION_FLAG, /* takes no value: sets a bool */
	OPTION_NUMBER,
	OPTION_SECONDS,
	OPTION_BYTES,
	OPTION_PID, /* three lists of numbers */
	OPTION_TID,
	OPTION_CPU,
	OPTION_SUM, /* a text */
	OPTION_UNIT,
	OPTION_UNTIL,
	OPTION_OUTPUT,
	OPTION_FORMAT,
	OPTION_MINUS,
	OPTION_MIN_PERCENT,
	OPTION_UNWIND,
	OPTION_KERNEL_UNWIND,
	OPTION_WITHOUT,
	OPTION_UNSUPPORTED, /* is refused */
};

/* --read excludes the option, because it traces nothing. */
#define OPTION_OF_TRACING (1U << TOOL_N)

/*
 * An option of one or more tools. Two tools may use different letters for one option, or one letter
 * for different options, so an option may have several rows.
 */
struct option_row {
	unsigned tools; /* 1 << enum tool, an OR: the tools that have it; and OPTION_OF_TRACING */
	enum option_key key;
	size_t member;        /* offset in struct options, if the key tells the type */
	uint64_t least, most; /* of numbers */
	char letter;          /* '\0': none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help;
};

/* All rows, in the order of --help. The last one has no name. */
extern const struct option_row option_rows[];

/* Does @tool have the option? */
bool option_is_of(const struct option_row *row, enum tool tool);

/*
 * The words that OPTION_WITHOUT, OPTION_UNWIND, OPTION_KERNEL_UNWIND, OPTION_FORMAT and OPTION_UNIT
 * take, by these keys alone, with blanks between. Any other word is a unit, too.
 */
extern const char *const option_values[];
