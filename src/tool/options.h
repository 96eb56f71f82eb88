/* tool/options.h - the command line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "spec/numbers.h"

/* Strings are those of argv. */
struct options {
	char *const *patterns;
	size_t n_patterns;
	char *const *command; /* NULL-terminated; NULL: none */
	struct number_list pids;
	struct number_list cpus;
	uint64_t interval_ns; /* 0: one report, at the end */
	uint64_t duration_ns; /* 0: until a signal */
	uint64_t max_events;  /* 0: any number */
	uint64_t min_count;
	uint64_t top;        /* 0: all */
	uint64_t max_depth;  /* frames of each stack, 0: all */
	uint64_t max_memory; /* bytes, kernel and user together */
	unsigned avoid;      /* 1 << enum backend, an OR */
	bool timestamp;
	bool regexp;
	bool offset;
	bool per_process;
	bool kernel_only;
	bool user_only;
	bool verbose;
	bool delimited;
	bool folded;
	bool debug;
	bool list;
	bool help;
	bool version;
};

/* Errors: -EINVAL, with words that name the option. */
must_check int options_parse(int argc, char *const *argv, struct options *ret, struct error *e);
void options_fini(struct options *opt);

void options_help(FILE *to);
