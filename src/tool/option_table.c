// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/options.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "bpf/abi.h"
#include "report/forms.h"

static const char *const names[TOOL_N] = {
	[TOOL_STACKCOUNT] = "stackcount",
	[TOOL_STACKSNOOP] = "stacksnoop",
	[TOOL_FUNCCOUNT] = "funccount",
	[TOOL_PROFILE] = "profile",
};

const char *tool_name(enum tool tool)
{
	return names[tool];
}

enum tool tool_called(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	for (int t = 0; name && t < TOOL_N; t++)
		if (strcmp(name, names[t]) == 0)
			return (enum tool)t;
	return TOOL_STACKCOUNT;
}

/* " csv" */
#define FORM_WORD(name, ...) " " #name

#define COUNT (1U << TOOL_STACKCOUNT)
#define SNOOP (1U << TOOL_STACKSNOOP)
#define CALLS (1U << TOOL_FUNCCOUNT)
#define CPU (1U << TOOL_PROFILE)
#define REPORT (COUNT | CPU) /* rows of stacks */
#define ALL (COUNT | SNOOP | CALLS)
#define EVERY (ALL | CPU)
#define TRACING OPTION_OF_TRACING
#define RANGE(key, member, least, most) OPTION_##key, offsetof(struct options, member), least, most
#define AT(key, member) RANGE(key, member, 0, 0)
#define FLAG(member) AT(FLAG, member)
#define COUNT_OF(member) RANGE(NUMBER, member, 1, INT64_MAX)
#define VALUE(key) OPTION_##key, 0, 0, 0
#define MOST_PID 4194304 /* PID_MAX_LIMIT of 64-bit kernels */

const struct option_row option_rows[] = {
	/* clang-format off */
	{ EVERY, FLAG(help), 'h', "help", NULL, "show this help message and exit" },
	{ COUNT | CALLS | TRACING, RANGE(PID, pids, 1, MOST_PID), 'p', "pid", "PID[,PID...]", "count these processes only" },
	{ SNOOP, RANGE(PID, pids, 1, MOST_PID), 'p', "pid", "PID[,PID...]", "show events of these processes only" },
	{ CPU, RANGE(PID, pids, 1, MOST_PID), 'p', "pid", "PID[,PID...]", "profile these processes only" },
	{ CPU, RANGE(TID, tids, 1, MOST_PID), 'L', "tid", "TID[,TID...]", "profile these threads only" },
	{ CPU, RANGE(NUMBER, frequency, 1, 1000000), 'F', "frequency", "HZ", "take HZ samples a second on each CPU (49)" },
	{ CPU, COUNT_OF(period), 'c', "count", "NS", "take a sample on each CPU every NS nanoseconds" },
	{ CPU, FLAG(annotated), 'a', "annotations", NULL, "add an annotation to the names of kernel frames" },
	{ CPU, FLAG(include_idle), 'I', "include-idle", NULL, "also sample idle CPUs" },
	{ COUNT | CALLS | TRACING, RANGE(CPU, cpus, 0, MAX_CPUS - 1), 'c', "cpu", "CPU[,CPU-CPU...]", "count on these CPUs only" },
	{ SNOOP, RANGE(CPU, cpus, 0, MAX_CPUS - 1), 'c', "cpu", "CPU[,CPU-CPU...]", "show events on these CPUs only" },
	{ CPU, RANGE(CPU, cpus, 0, MAX_CPUS - 1), 'C', "cpu", "CPU[,CPU-CPU...]", "profile these CPUs only" },
	{ REPORT | CALLS | TRACING, AT(SECONDS, interval_ns), 'i', "interval", "SECONDS", "report every SECONDS (fractions are fine)" },
	{ COUNT | CPU | TRACING, AT(SECONDS, duration_ns), 'D', "duration", "SECONDS", "end after SECONDS" },
	{ SNOOP, AT(SECONDS, duration_ns), 'D', "duration", "SECONDS", "end after SECONDS (fractions are fine)" },
	{ CALLS, AT(SECONDS, duration_ns), 'd', "duration", "SECONDS", "end after SECONDS" },
	{ COUNT | TRACING, COUNT_OF(max_events), 'n', "events", "N", "end after N hits" },
	{ SNOOP, COUNT_OF(max_events), 'n', "events", "N", "end after N events" },
	{ REPORT | CALLS | TRACING, FLAG(timestamp), 'T', "timestamp", NULL, "print the time before each report" },
	{ SNOOP, FLAG(timestamp), 'T', "timestamp", NULL, "show the time of day, not the monotonic clock" },
	{ ALL | TRACING, RANGE(NUMBER, frequency, 1, 1000000), '\0', "frequency", "HZ", "perf events: take HZ samples a second on each CPU (99, unless each event is a sample)" },
	{ ALL | TRACING, COUNT_OF(period), '\0', "period", "N", "perf events: take a sample once in N events" },
	{ COUNT | TRACING, AT(SUM, patterns.sum), '\0', "sum", "EXPR", "show the sum of a value of the hits: a field, arg1, retval, or an expression of these" },
	{ COUNT, VALUE(UNIT), '\0', "unit", "UNIT", "with --sum: the unit of the values: bytes, ns, us, ms, s, or any word" },
	{ SNOOP, AT(SUM, patterns.sum), '\0', "value", "EXPR", "show a value of each event: a field, arg1, retval, or an expression of these" },
	{ SNOOP, VALUE(UNIT), '\0', "unit", "UNIT", "with --value: its unit: bytes, ns, us, ms, s, or any word" },
	{ COUNT | TRACING, FLAG(patterns.elapsed), '\0', "elapsed", NULL, "show the time from an event to its end: sys_enter_X until sys_exit_X, a user function until it returns, a thread off the CPU (t:sched:sched_switch), or --until" },
	{ COUNT | TRACING, VALUE(UNTIL), '\0', "until", "EVENT", "with --elapsed: EVENT ends what the PATTERN before it begins, in the same thread" },
	{ ALL | TRACING, FLAG(patterns.is_regexp), 'r', "regexp", NULL, "PATTERN is an extended regular expression, not a glob" },
	{ REPORT | SNOOP | TRACING, FLAG(offset), 's', "offset", NULL, "show offsets in functions" },
	{ COUNT, FLAG(per_process), 'P', "perpid", NULL, "show stacks separately for each process" },
	{ REPORT | SNOOP | TRACING, FLAG(kernel_only), 'K', "kernel-stacks-only", NULL, "kernel stacks only" },
	{ REPORT | SNOOP | TRACING, FLAG(user_only), 'U', "user-stacks-only", NULL, "user stacks only" },
	{ REPORT, FLAG(verbose), 'v', "verbose", NULL, "show raw addresses" },
	{ SNOOP, FLAG(verbose), 'v', "verbose", NULL, "also show the command, its PID and the CPU" },
	{ CALLS, FLAG(verbose), 'v', "verbose", NULL, "add a line with the total to each report" },
	{ REPORT, FLAG(delimited), 'd', "delimited", NULL, "print a delimiter between kernel and user stacks" },
	{ REPORT, FLAG(folded), 'f', "folded", NULL, "one line per stack, as flame graph tools read it" },
	{ REPORT, VALUE(OUTPUT), 'o', "output", "FILE", "write the report to FILE, in the form of its ending; - is standard output" },
	{ REPORT, VALUE(FORMAT), '\0', "format", "FORM", "the form of standard output:" FORMS(FORM_WORD) },
	{ REPORT, FLAG(tree), '\0', "tree", NULL, "print a tree of calls with shares, as --format tree" },
	{ REPORT, FLAG(invert), '\0', "invert", NULL, "trees and pages: begin with the functions called, not with their callers" },
	{ REPORT, VALUE(MIN_PERCENT), '\0', "min-percent", "P", "trees: leave out what has less than P per cent" },
	{ COUNT, FLAG(read), '\0', "read", NULL, "read files of earlier runs; the patterns are their names, - is standard input" },
	{ COUNT, VALUE(MINUS), '\0', "minus", "FILE", "with --read: show the difference from FILE, or from all up to the next option" },
	{ COUNT, FLAG(normalize), '\0', "normalize", NULL, "with --minus: scale both sides to equal sums" },
	{ REPORT | TRACING, FLAG(no_names), '\0', "no-names", NULL, "do not look up names of user functions in files" },
	{ REPORT | TRACING, FLAG(live), '\0', "live", NULL, "show the hottest stacks on the whole terminal, as a tree" },
	{ REPORT, FLAG(quiet), 'q', "quiet", NULL, "show no progress on the terminal" },
	{ SNOOP, FLAG(folded), 'f', "folded", NULL, "one line per event, as flame graph tools read it" },
	{ SNOOP, FLAG(json), '\0', "json", NULL, "one JSON object per line and event" },
	{ CALLS, FLAG(json), '\0', "json", NULL, "one JSON object per line and report" },
	{ REPORT, RANGE(NUMBER, top, 0, INT64_MAX), '\0', "top", "N", "show the N most frequent stacks only, 0: all (a terminal shows 100)" },
	{ CALLS, RANGE(NUMBER, top, 0, INT64_MAX), '\0', "top", "N", "show the N most frequent functions only, 0: all" },
	{ REPORT, COUNT_OF(min_count), '\0', "min", "N", "show stacks with N hits or more only" },
	{ CALLS, COUNT_OF(min_count), '\0', "min", "N", "show functions with N calls or more only" },
	{ REPORT | SNOOP | TRACING, RANGE(NUMBER, max_depth, 1, STACK_MAX_FRAMES), '\0', "max-depth", "N", "keep the innermost N frames of each stack" },
	{ REPORT | SNOOP, VALUE(UNWIND), '\0', "unwind", "HOW", "walk user stacks by unwind tables (auto, dwarf) or frame pointers (fp)" },
	{ REPORT | SNOOP, VALUE(KERNEL_UNWIND), '\0', "kernel-unwind", "HOW", "walk kernel stacks by unwind tables where possible (auto), or by the kernel itself (helper)" },
	{ REPORT | SNOOP, AT(BYTES, unwind_memory), '\0', "unwind-memory", "BYTES", "use at most this much memory for unwind tables (128M)" },
	{ EVERY, AT(BYTES, max_memory), '\0', "max-memory", "BYTES", "use at most this much memory, kernel and user (256M)" },
	{ REPORT | SNOOP, FLAG(lines), '\0', "lines", NULL, "show source lines and inlined functions of user code (DWARF)" },
	{ EVERY | TRACING, FLAG(patterns.raw_names), '\0', "no-demangle", NULL, "show C++, Rust and D names as in the symbol table" },
	{ REPORT | SNOOP | TRACING, FLAG(no_debuginfod), '\0', "no-debuginfod", NULL, "do not ask the servers of DEBUGINFOD_URLS for symbols" },
	{ EVERY | TRACING, FLAG(self), '\0', "self", NULL, "also count hits of the tool itself" },
	{ ALL | TRACING, FLAG(list), 'l', "list", NULL, "print what PATTERN matches, with -v also its fields and arguments; trace nothing" },
	{ REPORT | SNOOP, FLAG(debug), '\0', "debug", NULL, "print matches, backends and refused probes" },
	{ CALLS, FLAG(debug), 'D', "debug", NULL, "print matches, backends and refused probes" },
	{ EVERY | TRACING, VALUE(WITHOUT), '\0', "without", "BACKEND[,...]", "do not use these backends: kprobe.multi, kprobe, uprobe.multi, uprobe, kretprobe.multi, kretprobe" },
	{ EVERY | TRACING, RANGE(NUMBER, ready_fd, 3, INT_MAX), '\0', "ready-fd", "FD", "write a newline to descriptor FD when counting has begun and tables are made" },
	{ CPU, COUNT_OF(ignored), '\0', "stack-storage-size", "N", "no effect: all stacks are kept that fit --max-memory" },
	{ CPU, VALUE(UNSUPPORTED), '\0', "cgroupmap", "PATH", "not supported" },
	{ CPU, VALUE(UNSUPPORTED), '\0', "mntnsmap", "PATH", "not supported" },
	{ EVERY, FLAG(version), '\0', "version", NULL, "print the version and exit" },
	{},
	/* clang-format on */
};

const char *const option_values[] = {
	[OPTION_WITHOUT] = "kprobe.multi kprobe uprobe.multi uprobe kretprobe.multi kretprobe",
	[OPTION_UNWIND] = "auto dwarf fp",
	[OPTION_KERNEL_UNWIND] = "auto helper",
	[OPTION_UNIT] = "bytes ns us ms s",
	[OPTION_FORMAT] = &FORMS(FORM_WORD)[1], /* without the first blank */
};

bool option_is_of(const struct option_row *row, enum tool tool)
{
	return row->tools & 1U << tool;
}

/* --- --help --- */

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
	(void)fputs(usages[tool], to);
	(void)fputs("options:\n", to);
	for (const struct option_row *row = option_rows; row->name; row++)
		if (option_is_of(row, tool))
			print_option(to, row);
	if (tool == TOOL_PROFILE)
		(void)fputs("\nduration: seconds until the end (fractions are fine)\n", to);
	else
		(void)fputs(patterns, to);
	(void)fputs(examples[tool], to);
}
