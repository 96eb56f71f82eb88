// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text of --help: usage and examples from here, options from option_table.c. */
#include <stdio.h>

#include "tool/option_table.h"

static const char *const usages[TOOL_N] = {
	[TOOL_STACKCOUNT] =
		"usage: stackcount [-hTrsPKUvdfql] [-p PID] [-c CPU] [-i SECONDS] [-D SECONDS] [-n N]\n"
		"                  [-o FILE] [--debug] PATTERN... [-- COMMAND [ARG...]]\n"
		"       stackcount --read [-f] [-o FILE] FILE... [--minus FILE...]\n\n"
		"Count events and the stacks that led to them.\n\n",
	[TOOL_STACKSNOOP] =
		"usage: stacksnoop [-hTrsKUvfl] [-p PID] [-c CPU] [-D SECONDS] [-n N] [--json]\n"
		"                  [--debug] PATTERN... [-- COMMAND [ARG...]]\n\n"
		"Show the stack of every single event.\n\n",
	[TOOL_FUNCCOUNT] =
		"usage: funccount [-hTrvlD] [-p PID] [-c CPU] [-i SECONDS] [-d SECONDS] [--top N]\n"
		"                 [--min N] [--json] PATTERN... [-- COMMAND [ARG...]]\n\n"
		"Count calls of functions.\n\n",
	[TOOL_PROFILE] =
		"usage: profile [-hUKdaIfTsvq] [-p PID | -L TID] [-F HZ | -c NS] [-C CPU] [-i SECONDS]\n"
		"               [-o FILE] [--debug] [duration] [-- COMMAND [ARG...]]\n\n"
		"Profile CPU usage: sample stacks at a timed interval.\n\n",
};

static const char patterns[] =
	"\nPATTERN:\n"
	"  FUNC                  kernel function\n"
	"  LIB:FUNC              user function of a library, program or path\n"
	"  r:FUNC, r:LIB:FUNC    returns of a function\n"
	"  t:CATEGORY:EVENT      kernel tracepoint\n"
	"  u:LIB:PROBE           USDT probe, also u:LIB:PROVIDER:PROBE\n"
	"  e:EVENT               perf event: page-faults, cpu-clock, cycles:u; -l 'e:*' lists them\n"
	"  Names may be globs ('*', '?', '[...]'), which match the whole name.\n";

static const char *const examples[TOOL_N] = {
	[TOOL_STACKCOUNT] =
		"\nexamples:\n"
		"  stackcount submit_bio             # kernel stacks that lead to submit_bio\n"
		"  stackcount 'tcp_send*'            # stacks of all functions that match tcp_send*\n"
		"  stackcount -r '^tcp_send.*'       # same as above, with a regular expression\n"
		"  stackcount -p 185 c:malloc        # stacks for malloc in process 185\n"
		"  stackcount -Ti 5 ip_output        # a report every 5 seconds, with the time\n"
		"  stackcount t:sched:sched_switch   # stacks for a tracepoint\n"
		"  stackcount -p 185 'u:node:*'      # stacks for all USDT probes in node\n"
		"  stackcount -c 1 put_prev_entity   # stacks on CPU 1 only\n"
		"  stackcount -P -U c:malloc -- ls   # user stacks of a command, by process\n"
		"  stackcount -D 10 -o malloc.pb.gz c:malloc    # a file for later, and for other programs\n"
		"  stackcount --read malloc.pb.gz --minus old.pb.gz\n"
		"  stackcount -f -D 10 c:malloc | flamegraph.pl >malloc.svg\n",
	[TOOL_STACKSNOOP] =
		"\nexamples:\n"
		"  stacksnoop ext4_sync_fs           # the stack of each call of ext4_sync_fs\n"
		"  stacksnoop -s ext4_sync_fs        # stacks with offsets in the functions\n"
		"  stacksnoop -v ext4_sync_fs        # stacks with command, PID and CPU\n"
		"  stacksnoop -p 185 c:getenv        # calls of a user function in process 185\n"
		"  stacksnoop -K t:block:block_rq_issue  # kernel stacks at a tracepoint\n"
		"  stacksnoop -T -n 10 submit_bio    # ten events, with the time of day\n"
		"  stacksnoop -U -D 1 c:getenv -- ls # user stacks of a command, for a second\n"
		"  stacksnoop --json -D 5 t:signal:signal_generate >signals.jsonl\n",
	[TOOL_FUNCCOUNT] =
		"\nexamples:\n"
		"  funccount 'vfs_*'                 # calls of all kernel functions vfs_*\n"
		"  funccount -r '^vfs_(read|write)'  # functions that match a regular expression\n"
		"  funccount -Ti 5 'vfs_*'           # a report every 5 seconds, with the time\n"
		"  funccount -d 10 --top 5 'tcp_*'   # the five most frequent functions in 10 seconds\n"
		"  funccount -p 185 'vfs_*'          # calls by process 185 only\n"
		"  funccount -p 185 'c:mem*'         # calls of user functions in process 185\n"
		"  funccount 't:block:*'             # hits of the tracepoints of a category\n"
		"  funccount -p 185 'u:node:*'       # hits of all USDT probes in node\n"
		"  funccount 'c:str*' -- ls          # calls in a command\n",
	[TOOL_PROFILE] =
		"\nexamples:\n"
		"  profile                           # sample at 49 Hertz until Ctrl-C\n"
		"  profile -F 99                     # sample at 99 Hertz\n"
		"  profile -c 1000000                # sample every millisecond of a CPU's clock\n"
		"  profile 5                         # sample for 5 seconds only\n"
		"  profile -o cpu.pb.gz 30           # keep it; see it by stackcount --read cpu.pb.gz\n"
		"  profile -f 5                      # output in folded format for flame graphs\n"
		"  profile -p 185                    # only sample process 185\n"
		"  profile -L 185                    # only sample thread 185\n"
		"  profile -U                        # only show user stacks (no kernel)\n"
		"  profile -K                        # only show kernel stacks (no user)\n"
		"  profile -o cpu.html 10            # a page with a flame graph\n"
		"  profile -F 99 -- make             # a command and its children\n",
};

static void print_option(FILE *to, const struct option_row *row)
{
	char left[64];
	const char *argument = row->argument ? row->argument : "";
	const char *space = row->argument ? " " : "";

	if (row->letter)
		(void)snprintf(left, sizeof(left), "-%c, --%s%s%s", row->letter, row->name, space,
			       argument);
	else
		(void)snprintf(left, sizeof(left), "--%s%s%s", row->name, space, argument);
	(void)fprintf(to, "  %-28s %s\n", left, row->help);
}

void options_help(enum tool tool, FILE *to)
{
	size_t n;
	const struct option_row *rows = option_rows(&n);

	(void)fputs(usages[tool], to);
	(void)fputs("options:\n", to);
	for (size_t i = 0; i < n; i++)
		if (option_is_of(&rows[i], tool))
			print_option(to, &rows[i]);
	if (tool == TOOL_PROFILE)
		(void)fputs("\nduration: seconds until the end (fractions are fine)\n", to);
	else
		(void)fputs(patterns, to);
	(void)fputs(examples[tool], to);
}
