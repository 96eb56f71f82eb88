/* tool/options.h - the command line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "attach/plan.h"
#include "base/error.h"
#include "spec/numbers.h"

/* The names under which the program is called. */
enum tool { TOOL_STACKCOUNT, TOOL_STACKSNOOP, TOOL_FUNCCOUNT, TOOL_N };

const char *tool_name(enum tool tool); /* "stacksnoop" */

/* Which tool is meant by argv[0], by its last component; stackcount if none, or NULL. */
enum tool tool_called(const char *path);

/* How user stacks are walked. */
enum unwind_mode {
	UNWIND_FP,    /* by frame pointers alone */
	UNWIND_AUTO,  /* as DWARF, where the kernel can; else as FP */
	UNWIND_DWARF, /* by tables, and by frame pointers what has none */
};

/* In struct options: each frame's rule is looked up, as if none was a recent one. */
#define AVOID_RECENT_RULES (1U << BACKEND_N)
/* Likewise: as on kernels before Linux 5.17. */
#define AVOID_LOOP (2U << BACKEND_N)

/* Strings are those of argv. What a tool has no option for is zero. */
struct options {
	enum tool tool;
	char *const *patterns;
	size_t n_patterns;
	char *const *command; /* NULL-terminated; NULL: none */
	struct number_list pids;
	struct number_list cpus;
	uint64_t interval_ns; /* 0: one report, at the end */
	uint64_t duration_ns; /* 0: until a signal */
	uint64_t max_events;  /* 0: any number */
	uint64_t min_count;
	uint64_t top;           /* 0: all */
	uint64_t max_depth;     /* frames of each stack, 0: all */
	uint64_t max_memory;    /* bytes, kernel and user together */
	uint64_t unwind_memory; /* bytes of unwind tables, besides */
	uint64_t ready_fd;      /* 0: none */
	unsigned avoid;         /* 1 << enum backend, and AVOID_*, an OR */
	enum unwind_mode unwind;
	bool timestamp; /* of stacksnoop's events: the time of day */
	bool regexp;
	bool offset;
	bool per_process;
	bool kernel_only;
	bool user_only;
	bool verbose; /* raw addresses; stacksnoop: command, PID, CPU; funccount: the total */
	bool delimited;
	bool folded;
	bool json; /* never with folded */
	bool lines;
	bool no_demangle;
	bool no_debuginfod;
	bool debug;
	bool self; /* our own hits count, too */
	bool list;
	bool help;
	bool version;
};

/* For the tool that argv[0] names. Errors: -EINVAL, with words that name the option. */
must_check int options_parse(int argc, char *const *argv, struct options *ret, struct error *e);
void options_fini(struct options *opt);

void options_help(enum tool tool, FILE *to);
