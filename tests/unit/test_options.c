/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What main() refuses before it looks at the machine: status 2, and the message. The end-to-end
 * tests start the program for a few of these (tests/e2e/test_input.py).
 */
#include "test.h"

#include "tool/run.h"

#define GETPPID "t:syscalls:sys_enter_getppid"
#define NANOSLEEP "t:syscalls:sys_enter_nanosleep"
#define WRITE "t:syscalls:sys_enter_write"
#define MALLOC "c:malloc"

#define MOST_WORDS 9

/* getopt(3) keeps its place in the last word, which may be gone. */
static int parse(const char *const words[MOST_WORDS], struct options *opt, struct error *e)
{
	char *argv[MOST_WORDS + 1] = {}, *const none[] = { "", NULL };
	int argc = 0;

	for (; argc < MOST_WORDS && words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	optind = 0;
	(void)getopt(1, none, "+");
	return options_parse(argc, argv, opt, e);
}

/* As main() does. The message; NULL: the words are taken. */
static const char *refusal(const char *const words[MOST_WORDS], struct error *e)
{
	struct options opt;
	int err = parse(words, &opt, e);

	if (!err && !opt.help && !opt.version)
		err = options_check(&opt, e);
	options_fini(&opt);
	return err ? e->text : NULL;
}

/* clang-format off */
static const struct {
	const char *words[MOST_WORDS];
	const char *message;
} refused[] = {
	{ { "stackcount" }, "no PATTERN given (see --help)" },
	{ { "stackcount", "--no-such-option", GETPPID }, "no option --no-such-option (see --help)" },
	{ { "stackcount", "--folder", GETPPID }, "no option --folder (did you mean --folded?)" },
	{ { "stackcount", "--tops=3", GETPPID }, "no option --tops (did you mean --top?)" },
	{ { "stackcount", "--kernel", GETPPID }, "no option --kernel (did you mean --kernel-unwind, --kernel-stacks-only?)" },
	{ { "stackcount", "-p", "1", "2", GETPPID }, "'2' is no event (several PIDs are separated by commas: -p 1,2)" },
	{ { "stackcount", GETPPID, "5" }, "'5' is no event (-D ends the run after a time)" },
	{ { "funccount", GETPPID, "5" }, "'5' is no event (-d ends the run after a time)" },
	{ { "stackcount", "tests/golden/document.json" }, "'tests/golden/document.json' is no event: stackcount --read FILE shows a saved run, and FILE:FUNCTION is an event of a program" },
	{ { "stackcount", "-Z", GETPPID }, "no option -Z (see --help)" },
	{ { "stackcount", "-D" }, "option -D needs a value" },
	{ { "stackcount", "--duration" }, "option --duration needs a value" },
	{ { "stackcount", "--quiet=yes", GETPPID }, "--quiet=yes: unexpected value (see --help)" },
	{ { "stackcount", "-i", "0", GETPPID }, "-i: '0' is not a time above 0" },
	{ { "stackcount", "-D", "never", GETPPID }, "-D: 'never' is not a number of seconds (for example 1 or 0.25)" },
	{ { "stackcount", "-p", "0", GETPPID }, "-p: '0' is not a list of numbers from 1 to 4194304 (for example 3 or 1,2 or 1-3,7)" },
	{ { "stackcount", "-c", "x", GETPPID }, "-c: 'x' is not a list of numbers from 0 to 4095 (for example 3 or 1,2 or 1-3,7)" },
	{ { "stackcount", "-n", "0", GETPPID }, "-n: '0' is not a whole number from 1 to 9223372036854775807" },
	{ { "stackcount", "--top", "x", GETPPID }, "--top: 'x' is not a whole number from 0 to 9223372036854775807" },
	{ { "stackcount", "--min", "0", GETPPID }, "--min: '0' is not a whole number from 1 to 9223372036854775807" },
	{ { "stackcount", "--max-memory", "10", GETPPID }, "--max-memory must be at least 1M" },
	{ { "stackcount", "--max-depth", "0", GETPPID }, "--max-depth: '0' is not a whole number from 1 to 1024" },
	{ { "stackcount", "--without", "magic", GETPPID }, "--without: no backend 'magic'" },
	{ { "stackcount", "--unwind", "guess", GETPPID }, "--unwind takes auto, fp or dwarf, not 'guess'" },
	{ { "stackcount", "--kernel-unwind", "guess", GETPPID }, "--kernel-unwind takes auto or helper, not 'guess'" },
	{ { "stackcount", "--ready-fd", "2", GETPPID }, "--ready-fd: '2' is not a whole number from 3 to 2147483647" },
	{ { "stackcount", "--min-percent", "x", GETPPID }, "--min-percent: 'x' is not a number from 0 to 100" },
	{ { "stackcount", GETPPID, "--" }, "no command after --" },
	{ { "stackcount", "-p", "1", GETPPID, "--", "true" }, "-p and a command exclude each other" },
	{ { "stackcount", "-K", "-U", GETPPID }, "-K and -U exclude each other" },
	{ { "stackcount", "-K", MALLOC }, "-K: '" MALLOC "' is user code and has no kernel stack" },
	{ { "stackcount", "-f", "--format", "text", GETPPID }, "-f, --tree and --format exclude each other" },
	{ { "stackcount", "--format", "pdf", GETPPID }, "--format: no form 'pdf'; there are: text folded pprof html tree json" },
	{ { "stackcount", "-o", "", GETPPID }, "-o: a file needs a name" },
	{ { "stackcount", "-o", "a.xyz", GETPPID }, "-o a.xyz: its ending names no form; there are .txt, .folded, .pb.gz, .html, .tree, .json" },
	{ { "stackcount", "-o", ".", GETPPID }, "-o .: names a folder, not a file" },
	{ { "stackcount", "--invert", GETPPID }, "--invert needs a form that it changes: --live, --format html, -o FILE.html, --format tree, -o FILE.tree" },
	{ { "stackcount", "--invert", "-o", "a.json", "-f", GETPPID }, "--invert needs a form that it changes: --live, --format html, -o FILE.html, --format tree, -o FILE.tree" },
	{ { "stackcount", "--min-percent", "1", "-o", "a.html", GETPPID }, "--min-percent needs a form that it changes: --live, --format tree, -o FILE.tree" },
	{ { "stackcount", "--normalize", GETPPID }, "--normalize needs --minus" },
	{ { "stackcount", "--read", "-p", "1", "a" }, "--read and -p exclude each other" },
	{ { "stackcount", "--read", "--live", "a" }, "--read and --live exclude each other" },
	{ { "stackcount", "--read", "--sum", "count", "a" }, "--read and --sum exclude each other" },
	{ { "stackcount", "--read" }, "no FILE given (see --help)" },
	{ { "stackcount", "--read", "--minus", "a" }, "no FILE given to subtract from (those behind --minus are its own)" },
	{ { "stackcount", "--minus", "a.pb.gz", GETPPID }, "--minus needs --read: write the run to a file (-o), and compare that" },
	{ { "stackcount", "x:y:z:w" }, "'x:y:z:w': too many ':' (an event is FUNCTION, LIB:FUNCTION, p:LIB:FUNCTION, r:LIB:FUNCTION, t:CATEGORY:EVENT or u:LIB:PROBE)\n  x:y:z:w\n     ^" },
	{ { "stackcount", "--frequency", "99", "t:sched:sched_switch" }, "--frequency is of perf events, and 't:sched:sched_switch' is none (e:EVENT)" },
	{ { "stackcount", "--period", "9", MALLOC }, "--period is of perf events, and '" MALLOC "' is none (e:EVENT)" },
	{ { "stackcount", "--period", "9", "--frequency", "9", "e:cpu-clock" }, "--frequency and --period exclude each other" },
	{ { "stackcount", "--frequency", "0", "e:cpu-clock" }, "--frequency: '0' is not a whole number from 1 to 1000000" },
	{ { "stackcount", "--unit", "bytes", WRITE }, "--unit needs --sum" },
	{ { "stackcount", "--sum", "count", "--unit", "", WRITE }, "--unit: '' is not a word of at most 24 letters, digits and _-/%." },
	{ { "stackcount", "--until", GETPPID }, "--until " GETPPID ": it stands behind the PATTERN that it ends" },
	{ { "stackcount", GETPPID, "--until", NANOSLEEP }, "--until needs --elapsed" },
	{ { "stackcount", "--elapsed", GETPPID, "--until", NANOSLEEP, "--until", NANOSLEEP }, "--until " NANOSLEEP ": '" GETPPID "' has one already" },
	{ { "stackcount", "--elapsed", "--sum", "arg1", GETPPID }, "--elapsed and --sum exclude each other" },
	{ { "stackcount", "--elapsed", "vfs_read" }, "--elapsed: 'vfs_read' is no tracepoint (t:CATEGORY:EVENT) and no user function (LIB:FUNC)" },
	{ { "stackcount", "--elapsed", "r:c:malloc" }, "--elapsed: 'r:" MALLOC "': name the function, which ends by its returns" },
	{ { "stackcount", "--elapsed", MALLOC, "--until", GETPPID }, "--until " GETPPID ": '" MALLOC "' is a function, which ends by its returns" },
	{ { "stackcount", "--elapsed", GETPPID, "--until", "c:free" }, "--until: 'c:free' is no tracepoint (t:CATEGORY:EVENT)" },
	{ { "stackcount", "--elapsed", "e:page-faults" }, "--elapsed: 'e:page-faults' is no tracepoint (t:CATEGORY:EVENT) and no user function (LIB:FUNC)" },
	{ { "stacksnoop" }, "no PATTERN given (see --help)" },
	{ { "stacksnoop", "-i", "1", GETPPID }, "no option -i (see --help)" },
	{ { "stacksnoop", "-f", "--json", GETPPID }, "-f and --json exclude each other" },
	{ { "stacksnoop", "-K", MALLOC }, "-K: '" MALLOC "' is user code and has no kernel stack" },
	{ { "stacksnoop", "--sum", "count", WRITE }, "--sum: stacksnoop adds nothing up; --value EXPR shows each value" },
	{ { "stacksnoop", "--unit", "us", WRITE }, "--unit needs --value" },
	{ { "stacksnoop", "--value", "count +", WRITE }, "'count +': the expression ends too early\n  count +\n         ^" },
	{ { "stacksnoop", "--read", "a.pb.gz" }, "--read: stacksnoop reads no files; 'stackcount --read FILE' does" },
	{ { "stacksnoop", "--read=a.pb.gz" }, "--read: stacksnoop reads no files; 'stackcount --read FILE' does" },
	{ { "stacksnoop", "--minus", "a.pb.gz" }, "--minus: stacksnoop reads no files; 'stackcount --read FILE' does" },
	{ { "funccount" }, "no PATTERN given (see --help)" },
	{ { "funccount", "--duration", "never", GETPPID }, "-d: 'never' is not a number of seconds (for example 1 or 0.25)" },
	{ { "funccount", "--json=yes", GETPPID }, "--json=yes: unexpected value (see --help)" },
	{ { "funccount", "-f", GETPPID }, "no option -f (see --help)" },
	{ { "funccount", "--read", "a" }, "--read: funccount reads no files; 'stackcount --read FILE' does" },
	{ { "funccount", "--minus=a" }, "--minus: funccount reads no files; 'stackcount --read FILE' does" },
	{ { "profile", "never" }, "duration: 'never' is not a number of seconds (for example 1 or 0.25)" },
	{ { "profile", "1", "2" }, "'2': one duration is enough" },
	{ { "profile", "-F", "9", "-c", "9" }, "-F and -c exclude each other" },
	{ { "profile", "-L", "1", "-p", "1" }, "-L and -p exclude each other" },
	{ { "profile", "-L", "1", "--", "true" }, "-L and a command exclude each other" },
	{ { "profile", "--cgroupmap", "/x" }, "--cgroupmap: not supported; -p, -L and a command choose what to profile" },
	{ { "profile", "--stack-storage-size", "0" }, "--stack-storage-size: '0' is not a whole number from 1 to 9223372036854775807" },
	{ { "profile", "-l" }, "no option -l (see --help)" },
	{ { "profile", "--read", "a" }, "--read: profile reads no files; 'stackcount --read FILE' does" },
};
/* clang-format on */

TEST(what_cannot_be_is_refused_with_the_reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct error e = {};
		const char *message = refusal(refused[i].words, &e);

		if (!message)
			fail_msg("row %zu was taken: %s", i, refused[i].message);
		assert_string_equal(message, refused[i].message);
	}
}

/* "-p", "--pid"; NULL where it has no letter. */
static const char *option_word(const struct option_row *row, bool is_long, char to[64])
{
	if (!is_long && !row->letter)
		return NULL;
	if (is_long)
		(void)snprintf(to, 64, "--%s", row->name);
	else
		(void)snprintf(to, 64, "-%c", row->letter);
	return to;
}

static const char *value_of(const struct option_row *row)
{
	static const char *const values[] = {
		[OPTION_WITHOUT] = "kprobe", [OPTION_BYTES] = "64M",
		[OPTION_UNWIND] = "fp",      [OPTION_KERNEL_UNWIND] = "auto",
		[OPTION_FORMAT] = "folded",  [OPTION_SECONDS] = "0.5",
		[OPTION_CPU] = "0",          [OPTION_MIN_PERCENT] = "0.5",
		[OPTION_UNTIL] = NANOSLEEP,
	};
	const char *value = row->key < ARRAY_SIZE(values) ? values[row->key] : NULL;

	return value ? value : "5";
}

/* Has @tool an option of this letter or name? */
static bool has_word(enum tool tool, const struct option_row *row, bool is_long)
{
	for (const struct option_row *at = option_rows; at->name; at++)
		if (option_is_of(at, tool) &&
		    (is_long ? strcmp(at->name, row->name) == 0 : at->letter == row->letter))
			return true;
	return false;
}

TEST(each_tool_takes_its_options_and_names_those_of_others)
{
	for (size_t i = 0; option_rows[i / TOOL_N / 2].name; i++) {
		const struct option_row *row = &option_rows[i / TOOL_N / 2];
		const enum tool tool = (enum tool)(i / 2 % TOOL_N);
		char buffer[64];
		const char *word = option_word(row, i % 2, buffer);
		const char *message;
		struct error e = {};

		if (!word || row->key == OPTION_UNSUPPORTED)
			continue;
		if (option_is_of(row, tool)) {
			const char *const taken[MOST_WORDS] = {
				tool_name(tool), "--version", tool == TOOL_PROFILE ? "1" : GETPPID,
				word, row->argument ? value_of(row) : NULL
			};

			message = refusal(taken, &e);
			if (message)
				fail_msg("%s %s: %s", tool_name(tool), word, message);
		} else if (!has_word(tool, row, i % 2)) {
			const char *const others[MOST_WORDS] = { tool_name(tool), word, "1",
								 GETPPID };

			message = refusal(others, &e);
			if (!message || !strstr(message, word))
				fail_msg("%s %s: %s", tool_name(tool), word, message);
		}
	}
}

/* What help and completions offer for each is taken. */
TEST(values_that_are_offered_are_taken)
{
	const char *const lists[][2] = {
		{ "--without", option_values[OPTION_WITHOUT] },
		{ "--unwind", option_values[OPTION_UNWIND] },
		{ "--kernel-unwind", option_values[OPTION_KERNEL_UNWIND] },
		{ "--unit", option_values[OPTION_UNIT] },
		{ "--format", option_values[OPTION_FORMAT] },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char values[256], *rest = values;

		(void)snprintf(values, sizeof(values), "%s", lists[i][1]);
		for (const char *value; (value = strsep(&rest, " "));) {
			const char *const words[MOST_WORDS] = { "stackcount", "--version",
								lists[i][0], value };
			struct error e = {};
			const char *message = refusal(words, &e);

			if (message)
				fail_msg("%s", message);
		}
	}
}

TEST(an_option_is_there_once)
{
	for (const struct option_row *a = option_rows; a->name; a++)
		for (const struct option_row *b = option_rows; b < a; b++)
			if (a->tools & b->tools) {
				assert_string_not_equal(a->name, b->name);
				assert_true(!a->letter || a->letter != b->letter);
			}
}

TEST(the_last_part_of_the_path_is_the_tools_name)
{
	assert_int_equal(tool_called("stacksnoop"), TOOL_STACKSNOOP);
	assert_int_equal(tool_called("/opt/funccount/profile"), TOOL_PROFILE);
	assert_int_equal(tool_called("./funccount"), TOOL_FUNCCOUNT);
	assert_int_equal(tool_called("/opt/funccount/stackcount"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called("funccount-7"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called("stacksnoop.old"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called("/opt/funccount/"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called(NULL), TOOL_STACKCOUNT);
}

#define PARSE(opt, ...) assert_works(parse((const char *[MOST_WORDS]){ __VA_ARGS__ }, opt, &e))

TEST(one_letter_is_what_each_tool_means_by_it)
{
	struct options opt;

	PARSE(&opt, "stackcount", "-D", "2", "-d", GETPPID);
	assert_true(opt.duration_ns == 2000000000 && opt.delimited && !opt.debug);
	PARSE(&opt, "funccount", "-d", "2", "-D", GETPPID);
	assert_true(opt.duration_ns == 2000000000 && !opt.delimited && opt.debug);
	PARSE(&opt, "stackcount", "-c", "1", GETPPID);
	assert_int_equal(opt.cpus.n, 1);
	options_fini(&opt);
	PARSE(&opt, "profile", "-c", "1000", "2");
	assert_true(opt.period == 1000 && !opt.cpus.n && opt.duration_ns == 2000000000);
	PARSE(&opt, "profile");
	assert_true(opt.frequency == 49 && !opt.duration_ns && opt.patterns.n == 1);
}

TEST(options_may_stand_behind_patterns_and_lists_may_come_again)
{
	struct options opt;

	PARSE(&opt, "stackcount", "-p", "7,8", GETPPID, "-p", "9", "-f");
	assert_int_equal(opt.patterns.n, 1);
	assert_string_equal(opt.patterns.texts[0], GETPPID);
	assert_int_equal(opt.pids.n, 3);
	assert_string_equal(opt.format, "folded");
	options_fini(&opt);
	PARSE(&opt, "stackcount", GETPPID, "--", "ls", "-f");
	assert_true(!opt.folded && opt.command);
	assert_string_equal(opt.command[1], "-f");
}

static unsigned needs(const char *first, const char *second)
{
	cleanup_free char *a = xstrdup(first);
	cleanup_free char *b = xstrdup(second);
	char *const patterns[] = { a, b };
	cleanup(options_fini) struct options opt = { .patterns = { .texts = patterns, .n = 2 } };

	assert_int_equal(options_check(&opt, NULL), 0);
	return patterns_need_features(&opt.patterns);
}

TEST(features_depend_on_what_kinds_were_asked_for)
{
	assert_int_equal(needs("t:sched:*", "t:a:b"), 0);
	assert_int_equal(needs("t:sched:*", "vfs_*"), FEATURES_KERNEL_FUNCTION);
	assert_int_equal(needs("t:sched:*", "c:malloc"), FEATURES_USER);
	assert_int_equal(needs("vfs_read", "u:c:setjmp"), FEATURES_USER | FEATURES_KERNEL_FUNCTION);
	assert_int_equal(needs("t:sched:*", "r:vfs_read"),
			 FEATURES_KERNEL_FUNCTION | FEATURES_KERNEL_RETURN);
	assert_int_equal(needs("r:c:malloc", "r:c:free"), FEATURES_USER);
}

TEST_MAIN(NULL, NULL)
