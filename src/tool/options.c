// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "base/text.h"
#include "match/names.h"
#include "report/render.h"
#include "tool/output.h"

#define DEFAULT_MEMORY (256ULL << 20)
#define DEFAULT_UNWIND_MEMORY (128ULL << 20)
#define LIVE_INTERVAL_NS 1000000000ULL
#define MOST_ROWS 96
#define AVOIDED_N (BACKEND_N + 3)
#define MOST_PATTERNS 4096

/*
 * The name of a bit of options.avoid. The bits above the backends are for measurements and tests.
 */
static const char *avoided_name(int bit)
{
	static const char *const others[] = { "rules.recent", "trust.kernel", "kernel.loads" };

	if (bit < BACKEND_N)
		return backend_name(bit);
	return bit < AVOIDED_N ? others[bit - BACKEND_N] : NULL;
}

/* "kprobe.multi,uprobe" */
static int parse_backends(const char *text, unsigned *avoid, struct error *e)
{
	do {
		size_t n = strcspn(text, ",");
		int b = 0;

		while (b < AVOIDED_N &&
		       (strlen(avoided_name(b)) != n || strncmp(avoided_name(b), text, n) != 0))
			b++;
		if (b == AVOIDED_N)
			return error_set(e, -EINVAL, "--without: no backend '%.*s'", (int)n, text);
		*avoid |= 1U << b;
		text += n + (text[n] == ',');
	} while (*text);
	return 0;
}

static int parse_unwind(const char *text, bool *by_fp, struct error *e)
{
	const bool is_dwarf = strcmp(text, "dwarf") == 0;

	*by_fp = strcmp(text, "fp") == 0;
	if (!*by_fp && !is_dwarf && strcmp(text, "auto") != 0)
		return error_set(e, -EINVAL, "--unwind takes auto, fp or dwarf, not '%s'", text);
	if (is_dwarf && !ARCH_HAS_TABLES)
		return error_set(
			e, -EINVAL,
			"--unwind dwarf: no unwind tables on %s yet, only frame pointers (fp)",
			ARCH_NAME);
	*by_fp |= !ARCH_HAS_TABLES;
	return 0;
}

/* --- the name profile: stackcount of e:cpu-clock, with options and layout of bcc's tool --- */

#define PROFILE_PATTERN "e:cpu-clock"
#define PROFILE_FREQUENCY 49

static void cpu_profile_complete(struct options *opt)
{
	static char pattern[] = PROFILE_PATTERN;
	static char *patterns[] = { pattern };

	opt->patterns.texts = patterns;
	opt->patterns.n = 1;
	opt->per_process = true;
	if (!opt->frequency && !opt->period)
		opt->frequency = PROFILE_FREQUENCY;
}

/* --- all tools --- */

static char *patterns[MOST_PATTERNS];
static const char *minus_files[MOST_PATTERNS];
static const char *untils[MOST_PATTERNS]; /* by pattern */

static int push_name(const char *what, const char *value, const char **names, size_t *n,
		     size_t most, struct error *e)
{
	if (!value[0])
		return error_set(e, -EINVAL, "%s: a file needs a name", what);
	if (*n == most)
		return error_set(e, -E2BIG, "%s: too many files (at most %zu)", what, most);
	names[(*n)++] = value;
	return 0;
}

static int parse_percent(const char *what, const char *value, double *ret, struct error *e)
{
	char *end;

	*ret = strtod(value, &end);
	if (!value[0] || value[strspn(value, "0123456789.")] || *end || !(*ret >= 0 && *ret <= 100))
		return error_set(e, -EINVAL, "%s: '%s' is not a number from 0 to 100", what, value);
	return 0;
}

/* "-p", or "--sum". */
static const char *option_words(const struct option_row *row, char words[32])
{
	const char letter[] = { row->letter, '\0' };

	(void)snprintf(words, 32, "%s%s", row->letter ? "-" : "--",
		       row->letter ? letter : row->name);
	return words;
}

/* It belongs to the pattern before it. */
static int parse_until(const char *value, struct options *o, struct error *e)
{
	o->has_until = true;
	if (!o->patterns.n)
		return error_set(e, -EINVAL,
				 "--until %s: it stands behind the PATTERN that it ends", value);
	if (untils[o->patterns.n - 1])
		return error_set(e, -EINVAL, "--until %s: '%s' has one already", value,
				 o->patterns.texts[o->patterns.n - 1]);
	untils[o->patterns.n - 1] = value;
	return 0;
}

static int apply_option(const struct option_row *row, const char *value, struct options *o,
			struct error *e)
{
	const char *what = option_words(row, (char[32]){});
	void *member = (char *)o + row->member;

	if (row->tools & OPTION_OF_TRACING && !o->of_tracing)
		o->of_tracing = row;
	switch (row->key) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_NUMBER:
		return parse_count(what, value, row->least, row->most, member, e);
	case OPTION_SECONDS:
		return parse_seconds_ns(what, value, member, e);
	case OPTION_BYTES:
		return parse_bytes(what, value, member, e);
	case OPTION_PID:
	case OPTION_TID:
	case OPTION_CPU:
		return parse_number_list(what, value, (uint32_t)row->least, (uint32_t)row->most,
					 member, e);
	case OPTION_SUM:
		*(const char **)member = value;
		return 0;
	case OPTION_UNIT:
		return parse_unit(what, value, &o->patterns.unit, e);
	case OPTION_UNTIL:
		return parse_until(value, o, e);
	case OPTION_OUTPUT:
		o->to_standard |= strcmp(value, "-") == 0;
		if (strcmp(value, "-") == 0)
			return 0;
		return push_name(what, value, o->outputs, &o->n_outputs, MOST_OUTPUTS, e);
	case OPTION_MINUS:
		return push_name(what, value, minus_files, &o->n_minus, MOST_PATTERNS, e);
	case OPTION_FORMAT:
		o->format = value;
		if (renderer_find(value))
			return 0;
		return error_set(e, -EINVAL, "%s: no form '%s'; there are: %s", what, value,
				 option_values[row->key]);
	case OPTION_MIN_PERCENT:
		return parse_percent(what, value, &o->min_percent, e);
	case OPTION_UNWIND:
		return parse_unwind(value, &o->unwind_by_fp, e);
	case OPTION_KERNEL_UNWIND:
		o->kernel_by_helper = strcmp(value, "helper") == 0;
		if (o->kernel_by_helper || strcmp(value, "auto") == 0)
			return 0;
		return error_set(e, -EINVAL, "--kernel-unwind takes auto or helper, not '%s'",
				 value);
	case OPTION_WITHOUT:
		return parse_backends(value, &o->avoid, e);
	default:
		return error_set(e, -EINVAL,
				 "%s: not supported; -p, -L and a command choose what to profile",
				 what);
	}
}

/* The tables for getopt_long(3). It returns a letter, or LONG plus the index of a row. */
#define LONG 256

struct getopt_tables {
	struct option names[MOST_ROWS + 1];
	char letters[2 * MOST_ROWS + 3];
};

static void make_getopt_tables(enum tool tool, struct getopt_tables *ret)
{
	struct option *name = ret->names;
	char *letter = ret->letters;

	*ret = (struct getopt_tables){};
	*letter++ = '+'; /* stop at a pattern; parse_next_option() goes on after it */
	*letter++ = ':';
	for (int i = 0; option_rows[i].name; i++) {
		const struct option_row *row = &option_rows[i];
		int has_arg = row->argument ? required_argument : no_argument;

		if (!option_is_of(row, tool))
			continue;
		assert(name < ret->names + MOST_ROWS);
		*name++ = (struct option){ row->name, has_arg, NULL, LONG + i };
		if (!row->letter)
			continue;
		*letter++ = row->letter;
		if (row->argument)
			*letter++ = ':';
	}
}

/* The row that belongs to @what, a result of getopt_long(3). */
static const struct option_row *find_option_row(enum tool tool, int what)
{
	const struct option_row *row = option_rows;

	if (what >= LONG)
		return &row[what - LONG];
	while (!option_is_of(row, tool) || row->letter != what)
		row++;
	return row;
}

/* Unknown, or short for several. */
static int refuse_name(enum tool tool, const char *text, struct error *e)
{
	const int n_name = (int)strcspn(text, "=");
	char name[NEAR_NAME_BYTES];
	struct near near;

	(void)snprintf(name, sizeof(name), "%.*s", n_name, text);
	near_init(&near, name);
	for (const struct option_row *row = option_rows; row->name; row++) {
		(void)snprintf(name, sizeof(name), "--%s", row->name);
		if (option_is_of(row, tool))
			near_offer(&near, name);
	}
	return error_set(e, -EINVAL, "no option %.*s%s", n_name, text,
			 near.n ? near_text(&near) : " (see --help)");
}

static int refuse_option(enum tool tool, int what, char *const *argv, struct error *e)
{
	const char *text = argv[optind - 1];

	if (tool == TOOL_STACKSNOOP && text_begins_with(text, "--sum"))
		return error_set(
			e, -EINVAL,
			"--sum: stacksnoop adds nothing up; --value EXPR shows each value");

	if (what == ':' && optopt < LONG && text[1] != '-')
		return error_set(e, -EINVAL, "option -%c needs a value", optopt);
	if (what == ':')
		return error_set(e, -EINVAL, "option %s needs a value", text);
	if (optopt && optopt < LONG)
		return error_set(e, -EINVAL, "no option -%c (see --help)", optopt);
	if (optopt)
		return error_set(e, -EINVAL, "%s: unexpected value (see --help)", text);
	return refuse_name(tool, text, e);
}

static int check_combinations(const struct options *o, struct error *e)
{
	const bool is_snoop = o->tool == TOOL_STACKSNOOP;
	const struct {
		bool is_wrong;
		const char *message;
	} rows[] = {
		{ !o->patterns.n && o->read && o->n_minus,
		  "no FILE given to subtract from (those behind --minus are its own)" },
		{ !o->patterns.n && o->read, "no FILE given (see --help)" },
		{ !o->patterns.n, "no PATTERN given (see --help)" },
		{ o->kernel_only && o->user_only, "-K and -U exclude each other" },
		{ o->folded && o->json, "-f and --json exclude each other" },
		{ o->frequency && o->period,
		  o->tool == TOOL_PROFILE ? "-F and -c exclude each other"
					  : "--frequency and --period exclude each other" },
		{ o->tids.n && o->pids.n, "-L and -p exclude each other" },
		{ o->tids.n && o->command, "-L and a command exclude each other" },
		{ o->command && o->pids.n, "-p and a command exclude each other" },
		{ o->max_memory < 1U << 20, "--max-memory must be at least 1M" },
		{ o->read && o->command, "--read and a command exclude each other" },
		{ o->patterns.unit && !o->patterns.sum,
		  is_snoop ? "--unit needs --value" : "--unit needs --sum" },
		{ o->has_until && !o->patterns.elapsed, "--until needs --elapsed" },
		{ o->patterns.elapsed && o->patterns.sum,
		  "--elapsed and --sum exclude each other" },
		{ o->n_minus && !o->read,
		  "--minus needs --read: write the run to a file (-o), and compare that" },
		{ o->normalize && !o->n_minus, "--normalize needs --minus" },
	};
	char words[32];

	if (o->help || o->version)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_wrong)
			return error_set(e, -EINVAL, "%s", rows[i].message);
	if (o->read && o->of_tracing)
		return error_set(e, -EINVAL, "--read and %s exclude each other",
				 option_words(o->of_tracing, words));
	return 0;
}

/*
 * -f is --format folded, and --tree is --format tree. Files alone leave nothing for standard
 * output.
 */
static int choose_format(struct options *o, struct error *e)
{
	const size_t n_ways = (size_t)o->folded + o->tree + (o->format != NULL);

	if (o->tool != TOOL_STACKCOUNT && o->tool != TOOL_PROFILE)
		return 0;
	if (n_ways > 1)
		return error_set(e, -EINVAL, "-f, --tree and --format exclude each other");
	if (o->folded || o->tree)
		o->format = o->folded ? "folded" : "tree";
	if (!o->format && (!o->n_outputs || o->to_standard))
		o->format = "text";
	return 0;
}

/*
 * The other tools have no --read, and getopt_long(3) would take it as short for --ready-fd. Their
 * files are read by stackcount.
 */
static int refuse_reading(enum tool tool, const char *argument, struct error *e)
{
	static const char *const options[] = { "--read", "--minus" };

	for (size_t i = 0; i < ARRAY_SIZE(options) && tool != TOOL_STACKCOUNT; i++) {
		const size_t n = strlen(options[i]);

		if (strncmp(argument, options[i], n) == 0 && (!argument[n] || argument[n] == '='))
			return error_set(e, -EINVAL,
					 "%s: %s reads no files; 'stackcount --read FILE' does",
					 options[i], tool_name(tool));
	}
	return 0;
}

/* Parse one option or pattern. *@last: the row of the option before, and then of this one. */
static int parse_next_option(int end, char *const *argv, const struct getopt_tables *tables,
			     const struct option_row **last, struct options *ret, struct error *e)
{
	int what, err = refuse_reading(ret->tool, argv[optind], e);

	if (err)
		return err;
	what = getopt_long(end, argv, tables->letters, tables->names, NULL);
	if (what == '?' || what == ':')
		return refuse_option(ret->tool, what, argv, e);
	if (what != -1) {
		*last = find_option_row(ret->tool, what);
		return apply_option(*last, optarg, ret, e);
	}
	if (ret->tool == TOOL_PROFILE) {
		if (ret->duration_ns)
			return error_set(e, -EINVAL, "'%s': one duration is enough", argv[optind]);
		return parse_seconds_ns("duration", argv[optind++], &ret->duration_ns, e);
	}
	/* "--read new --minus old-*": a shell makes many files of the star, and --minus means all.
	 */
	if (ret->read && *last && (*last)->key == OPTION_MINUS)
		return push_name("--minus", argv[optind++], minus_files, &ret->n_minus,
				 MOST_PATTERNS, e);
	if (ret->patterns.n == ARRAY_SIZE(patterns))
		return error_set(e, -E2BIG, "too many patterns (at most %zu)",
				 ARRAY_SIZE(patterns));
	untils[ret->patterns.n] = NULL;
	patterns[ret->patterns.n++] = argv[optind++];
	ret->patterns.texts = patterns;
	return 0;
}

/* Options may follow patterns; "--" begins the command. */
int options_parse(int argc, char *const *argv, struct options *ret, struct error *e)
{
	struct getopt_tables tables;
	const struct option_row *last = NULL;
	int end = 1, err = 0;

	*ret = (struct options){ .tool = tool_called(argv[0]),
				 .argv = argv,
				 .minus = minus_files,
				 .patterns.untils = untils,
				 .top = TOP_UNSET,
				 .max_memory = DEFAULT_MEMORY,
				 .unwind_memory = DEFAULT_UNWIND_MEMORY,
				 .unwind_by_fp = !ARCH_HAS_TABLES };
	ret->patterns.pids = &ret->pids;
	ret->patterns.sum_option = ret->tool == TOOL_STACKSNOOP ? "--value" : "--sum";
	make_getopt_tables(ret->tool, &tables);
	for (; end < argc && strcmp(argv[end], "--") != 0; end++) /* --minus may stand before it */
		ret->read |= ret->tool == TOOL_STACKCOUNT && strcmp(argv[end], "--read") == 0;
	if (end + 1 == argc)
		return error_set(e, -EINVAL, "no command after --");
	if (end < argc)
		ret->command = argv + end + 1;
	opterr = 0;
	optind = 1;
	while (optind < end && !err)
		err = parse_next_option(end, argv, &tables, &last, ret, e);
	if (!err)
		err = choose_format(ret, e);
	if (ret->tool == TOOL_PROFILE)
		cpu_profile_complete(ret);
	if (ret->live && !ret->interval_ns)
		ret->interval_ns = LIVE_INTERVAL_NS;
	return err ? err : check_combinations(ret, e);
}

void options_fini(struct options *opt)
{
	patterns_fini(&opt->patterns);
	number_list_fini(&opt->pids);
	number_list_fini(&opt->tids);
	number_list_fini(&opt->cpus);
}

/* --- what the options name --- */

/* No function has a name of digits alone, or with a slash. A look at the file may hang. */
static int check_slip(const struct options *opt, const char *text, struct error *e)
{
	const bool is_number = text[strspn(text, "0123456789")] == '\0';
	const bool is_path = !strchr(text, ':') && (strchr(text, '/') || renderer_of_file(text));

	if (is_number)
		return error_set(e, -EINVAL, "'%s' is no event (%s)", text,
				 opt->pids.n ? "several PIDs are separated by commas: -p 1,2"
				 : opt->tool == TOOL_FUNCCOUNT ? "-d ends the run after a time"
							       : "-D ends the run after a time");
	if (!opt->patterns.is_regexp && is_path)
		return error_set(e, -EINVAL,
				 "'%s' is no event: stackcount --read FILE shows a saved run, and "
				 "FILE:FUNCTION is an event of a program",
				 text);
	return 0;
}

/* A user function has no kernel stack: with -K there would be nothing to show. */
static int check_kinds(const struct options *opt, struct error *e)
{
	bool has_kernel_stack = false, has_perf_event = false;

	for (size_t i = 0; i < opt->patterns.n; i++) {
		has_perf_event |= opt->patterns.specs[i].kind == PROBE_PERF_EVENT;
		has_kernel_stack |= !spec_is_in_file(&opt->patterns.specs[i]);
	}
	if ((opt->frequency || opt->period) && !has_perf_event)
		return error_set(e, -EINVAL, "%s is of perf events, and '%s' is none (e:EVENT)",
				 opt->frequency ? "--frequency" : "--period",
				 opt->patterns.texts[0]);
	if (opt->kernel_only && !has_kernel_stack)
		return error_set(e, -EINVAL, "-K: '%s' is user code and has no kernel stack",
				 opt->patterns.texts[0]);
	return 0;
}

/* Is the descriptor open for writing? Closes it in programs that we execute. */
static int check_ready_fd(uint64_t fd, struct error *e)
{
	if (!fd)
		return 0;

	const int flags = fcntl((int)fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return error_set(e, -EBADF,
				 "--ready-fd: descriptor %" PRIu64 " is not open for writing", fd);
	(void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

int options_check(struct options *opt, struct error *e)
{
	int err = check_ready_fd(opt->ready_fd, e);

	if (!err)
		err = reports_check(opt, e);
	if (err || opt->read)
		return err;
	err = patterns_parse(&opt->patterns, e);
	for (size_t i = 0; i < opt->patterns.n && !err; i++)
		err = check_slip(opt, opt->patterns.texts[i], e);
	return err ? err : check_kinds(opt, e);
}
