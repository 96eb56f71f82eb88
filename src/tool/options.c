#include "tool/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "attach/plan.h"
#include "base/array.h"
#include "bpf/abi.h"

#define DEFAULT_MEMORY (256ULL << 20)
#define MOST_PID 4194304 /* PID_MAX_LIMIT of 64-bit kernels */

enum only_long {
	OPT_DEBUG = 256,
	OPT_TOP,
	OPT_MIN,
	OPT_DEPTH,
	OPT_MEMORY,
	OPT_WITHOUT,
	OPT_VERSION
};

/* What --help prints and getopt_long(3) is given. */
static const struct {
	int letter; /* or enum only_long */
	const char *name;
	const char *argument;
	const char *help;
} table[] = {
	/* clang-format off */
	{ 'h', "help", NULL, "show this help message and exit" },
	{ 'p', "pid", "PID[,PID...]", "count these processes only" },
	{ 'c', "cpu", "CPU[,CPU-CPU...]", "count on these CPUs only" },
	{ 'i', "interval", "SECONDS", "report every SECONDS (fractions are fine)" },
	{ 'D', "duration", "SECONDS", "end after SECONDS" },
	{ 'n', "events", "N", "end after N hits" },
	{ 'T', "timestamp", NULL, "put the time before each report" },
	{ 'r', "regexp", NULL, "PATTERN is an extended regular expression, not a glob" },
	{ 's', "offset", NULL, "show offsets in functions" },
	{ 'P', "perpid", NULL, "show stacks separately for each process" },
	{ 'K', "kernel-stacks-only", NULL, "kernel stacks only" },
	{ 'U', "user-stacks-only", NULL, "user stacks only" },
	{ 'v', "verbose", NULL, "show raw addresses" },
	{ 'd', "delimited", NULL, "put a delimiter between kernel and user stacks" },
	{ 'f', "folded", NULL, "one line per stack, as flame graph tools read it" },
	{ OPT_TOP, "top", "N", "show the N most frequent stacks only" },
	{ OPT_MIN, "min", "N", "show stacks with N hits or more only" },
	{ OPT_DEPTH, "max-depth", "N", "keep the innermost N frames of each stack" },
	{ OPT_MEMORY, "max-memory", "BYTES", "use at most this much memory, kernel and user (256M)" },
	{ 'l', "list", NULL, "print what PATTERN matches; trace nothing" },
	{ OPT_DEBUG, "debug", NULL, "say what was matched, how it is traced, what was refused" },
	{ OPT_WITHOUT, "without", "BACKEND[,...]", "do not use kprobe.multi, kprobe, uprobe.multi, uprobe" },
	{ OPT_VERSION, "version", NULL, "print the version and exit" },
	/* clang-format on */
};

static const char usage[] =
	"usage: stackcount [-hTrsPKUvdfl] [-p PID] [-c CPU] [-i SECONDS] [-D SECONDS] [-n N]\n"
	"                  [--debug] PATTERN... [-- COMMAND [ARG...]]\n\n"
	"Count events and the stacks that led to them.\n\n";

static const char examples[] =
	"\nPATTERN:\n"
	"  FUNC                  kernel function\n"
	"  LIB:FUNC              user function of a library, program or path\n"
	"  t:CATEGORY:EVENT      kernel tracepoint\n"
	"  u:LIB:PROBE           USDT probe, also u:LIB:PROVIDER:PROBE\n"
	"  Names may be globs ('*', '?', '[...]'), which match the whole name.\n"
	"\nexamples:\n"
	"  stackcount submit_bio             # kernel stacks that lead to submit_bio\n"
	"  stackcount 'tcp_send*'            # of all functions that match tcp_send*\n"
	"  stackcount -r '^tcp_send.*'       # same as above, with a regular expression\n"
	"  stackcount -p 185 c:malloc        # stacks for malloc in process 185\n"
	"  stackcount -Ti 5 ip_output        # a report every 5 seconds, with the time\n"
	"  stackcount t:sched:sched_switch   # stacks for a tracepoint\n"
	"  stackcount -p 185 'u:node:*'      # stacks for all USDT probes in node\n"
	"  stackcount -c 1 put_prev_entity   # on CPU 1 only\n"
	"  stackcount -P -U c:malloc -- ls   # user stacks of a command, by process\n"
	"  stackcount -f -D 10 c:malloc | flamegraph.pl >malloc.svg\n";

void options_help(FILE *to)
{
	(void)fputs(usage, to);
	(void)fputs("options:\n", to);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char left[64];
		const char *argument = table[i].argument ? table[i].argument : "";
		const char *space = table[i].argument ? " " : "";

		if (table[i].letter < 256)
			(void)snprintf(left, sizeof(left), "-%c, --%s%s%s", table[i].letter,
				       table[i].name, space, argument);
		else
			(void)snprintf(left, sizeof(left), "--%s%s%s", table[i].name, space,
				       argument);
		(void)fprintf(to, "  %-28s %s\n", left, table[i].help);
	}
	(void)fputs(examples, to);
}

/* "kprobe.multi,uprobe" */
static int parse_backends(const char *text, unsigned *avoid, struct error *e)
{
	do {
		size_t n = strcspn(text, ",");
		int b = 0;

		while (b < BACKEND_N &&
		       (strlen(backend_name(b)) != n || strncmp(backend_name(b), text, n) != 0))
			b++;
		if (b == BACKEND_N)
			return error_set(e, -EINVAL, "--without: no backend '%.*s'", (int)n, text);
		*avoid |= 1U << b;
		text += n + (text[n] == ',');
	} while (*text);
	return 0;
}

static int take_value(int letter, const char *value, struct options *o, struct error *e)
{
	switch (letter) {
	case 'p':
		return parse_number_list("-p", value, 1, MOST_PID, &o->pids, e);
	case 'c':
		return parse_number_list("-c", value, 0, MAX_CPUS - 1, &o->cpus, e);
	case 'i':
		return parse_seconds_ns("-i", value, &o->interval_ns, e);
	case 'D':
		return parse_seconds_ns("-D", value, &o->duration_ns, e);
	case 'n':
		return parse_count("-n", value, 1, INT64_MAX, &o->max_events, e);
	case OPT_TOP:
		return parse_count("--top", value, 1, INT64_MAX, &o->top, e);
	case OPT_MIN:
		return parse_count("--min", value, 1, INT64_MAX, &o->min_count, e);
	case OPT_DEPTH:
		return parse_count("--max-depth", value, 1, STACK_MAX_FRAMES, &o->max_depth, e);
	case OPT_MEMORY:
		return parse_bytes("--max-memory", value, &o->max_memory, e);
	default:
		return parse_backends(value, &o->avoid, e);
	}
}

static bool *flag_of(int letter, struct options *o)
{
	switch (letter) {
	case 'T':
		return &o->timestamp;
	case 'r':
		return &o->regexp;
	case 's':
		return &o->offset;
	case 'P':
		return &o->per_process;
	case 'K':
		return &o->kernel_only;
	case 'U':
		return &o->user_only;
	case 'v':
		return &o->verbose;
	case 'd':
		return &o->delimited;
	case 'f':
		return &o->folded;
	case 'l':
		return &o->list;
	case 'h':
		return &o->help;
	case OPT_DEBUG:
		return &o->debug;
	case OPT_VERSION:
		return &o->version;
	default:
		return NULL;
	}
}

/* getopt's own tables, from ours. */
static void make_tables(struct option *long_options, char *letters)
{
	*letters++ = '+'; /* patterns do not end the options: see options_parse() */
	*letters++ = ':';
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int has_arg = table[i].argument ? required_argument : no_argument;

		long_options[i] = (struct option){ table[i].name, has_arg, NULL, table[i].letter };
		if (table[i].letter < 256)
			*letters++ = (char)table[i].letter;
		if (table[i].letter < 256 && table[i].argument)
			*letters++ = ':';
	}
	*letters = '\0';
}

static int refuse_option(int what, char *const *argv, struct error *e)
{
	const char *text = argv[optind - 1];

	if (what == ':' && optopt < 256 && text[1] != '-')
		return error_set(e, -EINVAL, "option -%c needs a value", optopt);
	if (what == ':')
		return error_set(e, -EINVAL, "option %s needs a value", text);
	if (optopt && optopt < 256)
		return error_set(e, -EINVAL, "no option -%c (see --help)", optopt);
	return error_set(e, -EINVAL,
			 "%s: no such option, or a value too many or too few (see --help)", text);
}

static int check(const struct options *o, struct error *e)
{
	if (o->help || o->version)
		return 0;
	if (!o->n_patterns)
		return error_set(e, -EINVAL, "which events? (see --help)");
	if (o->kernel_only && o->user_only)
		return error_set(e, -EINVAL, "-K and -U exclude each other");
	if (o->command && o->pids.n)
		return error_set(e, -EINVAL, "-p and a command exclude each other");
	if (o->max_memory < 1U << 20)
		return error_set(e, -EINVAL, "--max-memory: at least 1M is needed");
	return 0;
}

/* Options may stand behind patterns too; "--" begins the command. */
int options_parse(int argc, char *const *argv, struct options *ret, struct error *e)
{
	struct option long_options[ARRAY_SIZE(table) + 1] = {};
	char letters[2 * ARRAY_SIZE(table) + 3];
	static char *patterns[4096];
	int end = 1;
	int err = 0;

	*ret = (struct options){ .max_memory = DEFAULT_MEMORY, .patterns = patterns };
	make_tables(long_options, letters);
	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	if (end < argc) {
		if (end + 1 == argc)
			return error_set(e, -EINVAL, "which command? (nothing follows --)");
		ret->command = argv + end + 1;
	}
	opterr = 0;
	optind = 1;
	while (optind < end && !err) {
		int letter = getopt_long(end, argv, letters, long_options, NULL);
		bool *flag = flag_of(letter, ret);

		if (letter == -1 && ret->n_patterns < ARRAY_SIZE(patterns))
			patterns[ret->n_patterns++] = argv[optind++];
		else if (letter == -1)
			return error_set(e, -E2BIG, "more than %zu patterns", ARRAY_SIZE(patterns));
		else if (letter == '?' || letter == ':')
			return refuse_option(letter, argv, e);
		else if (flag)
			*flag = true;
		else
			err = take_value(letter, optarg, ret, e);
	}
	return err ? err : check(ret, e);
}

void options_fini(struct options *opt)
{
	number_list_fini(&opt->pids);
	number_list_fini(&opt->cpus);
}
