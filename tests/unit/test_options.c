/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What main() refuses before it looks at the machine: status 2, and the message. The end-to-end
 * tests start the program for a few of these (tests/e2e/test_input.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "tool/option_table.h"
#include "tool/patterns.h"
#include "tool/reports.h"

#define GETPPID "t:syscalls:sys_enter_getppid"
#define NANOSLEEP "t:syscalls:sys_enter_nanosleep"
#define WRITE "t:syscalls:sys_enter_write"
#define MALLOC "c:malloc"

#define MOST_WORDS 8

/* getopt(3) keeps its place in the last word, which may be gone. */
static void forget_last_line(void)
{
	char *const none[] = { "", NULL };

	optind = 0;
	(void)getopt(1, none, "+");
}

/* As main() does. The message; NULL: the words are taken. */
static const char *refusal(const char *program, const char *const words[MOST_WORDS],
			   struct error *e)
{
	char *argv[MOST_WORDS + 2] = { (char *)program };
	struct options opt;
	int argc = 1;

	while (argc <= MOST_WORDS && words[argc - 1]) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}

	forget_last_line();

	int err = options_parse(argc, argv, &opt, e);

	if (!err && !opt.help && !opt.version)
		err = reports_check(&opt, e);
	if (!err && !opt.help && !opt.version && !opt.read)
		err = patterns_check(&opt, e);
	options_fini(&opt);
	return err ? e->text : NULL;
}

struct refused {
	const char *words[MOST_WORDS];
	const char *message;
};

static void check_refused(const char *program, const struct refused *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct error e = {};
		const char *message = refusal(program, rows[i].words, &e);

		if (!message)
			fail_msg("row %zu was taken: %s", i, rows[i].message);
		assert_string_equal(message, rows[i].message);
	}
}

static void stackcount_refuses(void **state)
{
	static const struct refused rows[] = {
		/* clang-format off */
		{ {}, "no PATTERN given (see --help)" },
		{ { "" }, "an event must not be empty (examples: vfs_read, " MALLOC ", t:sched:sched_switch or u:LIB:PROBE)" },
		{ { "--no-such-option", GETPPID }, "--no-such-option: unknown option, or missing or unexpected value (see --help)" },
		{ { "-Z", GETPPID }, "no option -Z (see --help)" },
		{ { "-D" }, "option -D needs a value" },
		{ { "--duration" }, "option --duration needs a value" },
		{ { "--quiet=yes", GETPPID }, "--quiet=yes: unknown option, or missing or unexpected value (see --help)" },
		{ { "-i", "0", GETPPID }, "-i: '0' is not a time above 0" },
		{ { "-i", "abc", GETPPID }, "-i: 'abc' is not a number of seconds (for example 1 or 0.25)" },
		{ { "-i", "-1", GETPPID }, "-i: '-1' is not a time above 0" },
		{ { "-i", "", GETPPID }, "-i: '' is not a number of seconds (for example 1 or 0.25)" },
		{ { "-D", "0", GETPPID }, "-D: '0' is not a time above 0" },
		{ { "-D", "never", GETPPID }, "-D: 'never' is not a number of seconds (for example 1 or 0.25)" },
		{ { "-p", "-5", GETPPID }, "-p: '-5' is not a list of numbers from 1 to 4194304 (for example 3 or 1,2 or 1-3,7)" },
		{ { "-p", "0", GETPPID }, "-p: '0' is not a list of numbers from 1 to 4194304 (for example 3 or 1,2 or 1-3,7)" },
		{ { "-p", "abc", GETPPID }, "-p: 'abc' is not a list of numbers from 1 to 4194304 (for example 3 or 1,2 or 1-3,7)" },
		{ { "-c", "x", GETPPID }, "-c: 'x' is not a list of numbers from 0 to 4095 (for example 3 or 1,2 or 1-3,7)" },
		{ { "-c", "-1", GETPPID }, "-c: '-1' is not a list of numbers from 0 to 4095 (for example 3 or 1,2 or 1-3,7)" },
		{ { "-n", "0", GETPPID }, "-n: '0' is not a whole number from 1 to 9223372036854775807" },
		{ { "--top", "x", GETPPID }, "--top: 'x' is not a whole number from 1 to 9223372036854775807" },
		{ { "--min", "0", GETPPID }, "--min: '0' is not a whole number from 1 to 9223372036854775807" },
		{ { "--max-memory", "10", GETPPID }, "--max-memory must be at least 1M" },
		{ { "--max-depth", "0", GETPPID }, "--max-depth: '0' is not a whole number from 1 to 1024" },
		{ { "--max-depth", "1025", GETPPID }, "--max-depth: '1025' is not a whole number from 1 to 1024" },
		{ { "--without", "magic", GETPPID }, "--without: no backend 'magic'" },
		{ { "--unwind", "guess", GETPPID }, "--unwind takes auto, fp or dwarf, not 'guess'" },
		{ { "--kernel-unwind", "guess", GETPPID }, "--kernel-unwind takes auto or helper, not 'guess'" },
		{ { "--ready-fd", "2", GETPPID }, "--ready-fd: '2' is not a whole number from 3 to 2147483647" },
		{ { "--min-percent", "x", GETPPID }, "--min-percent: 'x' is not a number from 0 to 100" },
		{ { GETPPID, "--" }, "no command after --" },
		{ { "-p", "1", GETPPID, "--", "true" }, "-p and a command exclude each other" },
		{ { "-K", "-U", GETPPID }, "-K and -U exclude each other" },
		{ { "-K", MALLOC }, "-K: '" MALLOC "' is user code and has no kernel stack" },
		{ { "-f", "--format", "text", GETPPID }, "-f, --tree and --format exclude each other" },
		{ { "--live", "-f", GETPPID }, "--live takes standard output: -f, --tree, --format and -o - exclude it" },
		{ { "--live", "-o", "-", GETPPID }, "--live takes standard output: -f, --tree, --format and -o - exclude it" },
		{ { "--live", "--tree", GETPPID }, "--live takes standard output: -f, --tree, --format and -o - exclude it" },
		{ { "--live", "--format=text", GETPPID }, "--live takes standard output: -f, --tree, --format and -o - exclude it" },
		{ { "--format", "pdf", GETPPID }, "--format: no form 'pdf'; there are: text folded pprof html tree json prom" },
		{ { "-o", "", GETPPID }, "-o: a file needs a name" },
		{ { "-o", "a.xyz", GETPPID }, "-o a.xyz: its ending names no form; there are .txt, .folded, .pb.gz, .html, .tree, .json, .prom" },
		{ { "-o", ".", GETPPID }, "-o .: names a folder, not a file" },
		{ { "-o", "nofolder/", GETPPID }, "-o nofolder/: names a folder, not a file" },
		{ { "--invert", GETPPID }, "--invert needs a form that it changes: --live, --format html, -o FILE.html, --format tree, -o FILE.tree" },
		{ { "--invert", "-o", "a.json", "-f", GETPPID }, "--invert needs a form that it changes: --live, --format html, -o FILE.html, --format tree, -o FILE.tree" },
		{ { "--min-percent", "1", "-o", "a.html", GETPPID }, "--min-percent needs a form that it changes: --live, --format tree, -o FILE.tree" },
		{ { "--value", "hits", GETPPID }, "--value needs --read; a file of -o has all values of the run" },
		{ { "--normalize", GETPPID }, "--normalize needs --minus" },
		{ { "--read", "-p", "1", "a" }, "--read and -p exclude each other" },
		{ { "--read", "-K", "a" }, "--read and -K exclude each other" },
		{ { "--read", "--live", "a" }, "--read and --live exclude each other" },
		{ { "--read", "--sum", "count", "a" }, "--read and --sum exclude each other" },
		{ { "--read", "--elapsed", "a" }, "--read and --elapsed exclude each other" },
		{ { "--read" }, "no FILE given (see --help)" },
		{ { "--read", "--minus", "a" }, "no FILE given to subtract from (those behind --minus are its own)" },
		{ { "--minus", "a.pb.gz", "--live", GETPPID }, "--minus and --live exclude each other: the difference is known at the end of the whole run" },
		{ { "--minus", "a.pb.gz", "-i", "1", GETPPID }, "--minus and -i exclude each other: the difference is known at the end of the whole run" },
		{ { "--minus", "a.pb.gz", "-o", "a.prom", GETPPID }, "--minus and the form prom exclude each other; these show a difference: --format text, -o FILE.txt, --format folded, -o FILE.folded, --format pprof, -o FILE.pb.gz, --format html, -o FILE.html, --format tree, -o FILE.tree, --format json, -o FILE.json" },
		{ { "--read", "--format", "prom", "a", "--minus", "b" }, "--minus and the form prom exclude each other; these show a difference: --format text, -o FILE.txt, --format folded, -o FILE.folded, --format pprof, -o FILE.pb.gz, --format html, -o FILE.html, --format tree, -o FILE.tree, --format json, -o FILE.json" },
		{ { "t:sched" }, "'t:sched': a tracepoint is t:CATEGORY:EVENT" },
		{ { "x:y:z:w" }, "'x:y:z:w': too many ':' (an event is FUNCTION, LIB:FUNCTION, p:LIB:FUNCTION, r:LIB:FUNCTION, t:CATEGORY:EVENT or u:LIB:PROBE)\n  x:y:z:w\n     ^" },
		{ { "x\n:y:\x1bz:w" }, "'x?:y:?z:w': too many ':' (an event is FUNCTION, LIB:FUNCTION, p:LIB:FUNCTION, r:LIB:FUNCTION, t:CATEGORY:EVENT or u:LIB:PROBE)\n  x?:y:?z:w\n      ^" },
		{ { "-r", "t:sched:(" }, "bad regular expression '(': Unmatched ( or \\(" },
		{ { "-r", "t:sched:[z" }, "bad regular expression '[z': Unmatched [, [^, [:, [., or [=" },
		{ { "-r", "c:(a*)\\1" }, "bad regular expression '(a*)\\1': back-references (\\1) are not supported" },
		{ { "-r", "((((a{1,100}){1,100}){1,100}){1,100})" }, "bad regular expression '((((a{1,100}){1,100}){1,100}){1,100})': it takes too much time or memory" },
		{ { "e:" }, "'e:': a perf event is e:EVENT, e:EVENT:u, e:EVENT:k or e:PMU/TERM=VALUE,.../ (a program e is written as a path, ./e:FUNCTION)" },
		{ { "e:cycles:x" }, "'e:cycles:x': an event ends with :u (user) or :k (kernel)\n  e:cycles:x\n           ^" },
		{ { "e:cycles:pp" }, "'e:cycles:pp': precise events (:p) are not supported: the kernel gives them no stack in BPF\n  e:cycles:pp\n           ^" },
		{ { "--frequency", "99", "t:sched:sched_switch" }, "--frequency is of perf events, and 't:sched:sched_switch' is none (e:EVENT)" },
		{ { "--period", "9", MALLOC }, "--period is of perf events, and '" MALLOC "' is none (e:EVENT)" },
		{ { "--period", "9", "--frequency", "9", "e:cpu-clock" }, "--frequency and --period exclude each other" },
		{ { "--frequency", "0", "e:cpu-clock" }, "--frequency: '0' is not a whole number from 1 to 1000000" },
		{ { "--unit", "bytes", WRITE }, "--unit needs --sum" },
		{ { "--sum", "count", "--unit", "", WRITE }, "--unit: '' is not a word of at most 24 letters, digits and _-/%." },
		{ { "--sum", "count", "--unit", "two words", WRITE }, "--unit: 'two words' is not a word of at most 24 letters, digits and _-/%." },
		{ { "--sum", "count +", WRITE }, "'count +': the expression ends too early\n  count +\n         ^" },
		{ { "--sum", "arg0", WRITE }, "'arg0': arguments are counted from 1: the first one is arg1\n  arg0\n  ^" },
		{ { "--until", GETPPID }, "--until " GETPPID ": it stands behind the PATTERN that it ends" },
		{ { GETPPID, "--until", NANOSLEEP }, "--until needs --elapsed" },
		{ { "--elapsed", GETPPID, "--until", NANOSLEEP, "--until", NANOSLEEP }, "--until " NANOSLEEP ": '" GETPPID "' has one already" },
		{ { "--elapsed", "--sum", "arg1", GETPPID }, "--elapsed and --sum exclude each other" },
		{ { "--elapsed", "vfs_read" }, "--elapsed: 'vfs_read' is no tracepoint (t:CATEGORY:EVENT) and no user function (LIB:FUNC)" },
		{ { "--elapsed", "r:c:malloc" }, "--elapsed: 'r:" MALLOC "': name the function, which ends by its returns" },
		{ { "--elapsed", MALLOC, "--until", GETPPID }, "--until " GETPPID ": '" MALLOC "' is a function, which ends by its returns" },
		{ { "--elapsed", GETPPID, "--until", "c:free" }, "--until: 'c:free' is no tracepoint (t:CATEGORY:EVENT)" },
		{ { "--elapsed", "e:page-faults" }, "--elapsed: 'e:page-faults' is no tracepoint (t:CATEGORY:EVENT) and no user function (LIB:FUNC)" },
		/* clang-format on */
	};

	(void)state;
	check_refused("stackcount", rows, ARRAY_SIZE(rows));
}

static void stacksnoop_refuses(void **state)
{
	static const struct refused rows[] = {
		/* clang-format off */
		{ {}, "no PATTERN given (see --help)" },
		{ { "-D" }, "option -D needs a value" },
		{ { "-i", "1", GETPPID }, "no option -i (see --help)" },
		{ { "-P", GETPPID }, "no option -P (see --help)" },
		{ { "-d", GETPPID }, "no option -d (see --help)" },
		{ { "-f", "--json", GETPPID }, "-f and --json exclude each other" },
		{ { "-K", "-U", GETPPID }, "-K and -U exclude each other" },
		{ { "-K", MALLOC }, "-K: '" MALLOC "' is user code and has no kernel stack" },
		{ { "-n", "0", GETPPID }, "-n: '0' is not a whole number from 1 to 9223372036854775807" },
		{ { "--max-depth", "0", GETPPID }, "--max-depth: '0' is not a whole number from 1 to 1024" },
		{ { "--sum", "count", WRITE }, "--sum: stacksnoop adds nothing up; --value EXPR shows each value" },
		{ { "--unit", "us", WRITE }, "--unit needs --value" },
		{ { "--value", "count +", WRITE }, "'count +': the expression ends too early\n  count +\n         ^" },
		{ { "--read", "a.pb.gz" }, "--read: stacksnoop reads no files; 'stackcount --read FILE' does" },
		{ { "--read=a.pb.gz" }, "--read: stacksnoop reads no files; 'stackcount --read FILE' does" },
		{ { "--minus", "a.pb.gz" }, "--minus: stacksnoop reads no files; 'stackcount --read FILE' does" },
		/* clang-format on */
	};

	(void)state;
	check_refused("stacksnoop", rows, ARRAY_SIZE(rows));
}

static void funccount_refuses(void **state)
{
	static const struct refused rows[] = {
		/* clang-format off */
		{ {}, "no PATTERN given (see --help)" },
		{ { "-d" }, "option -d needs a value" },
		{ { "--duration" }, "option --duration needs a value" },
		{ { "-d", "never", GETPPID }, "-d: 'never' is not a number of seconds (for example 1 or 0.25)" },
		{ { "--duration", "never", GETPPID }, "-d: 'never' is not a number of seconds (for example 1 or 0.25)" },
		{ { "--top", "0", GETPPID }, "--top: '0' is not a whole number from 1 to 9223372036854775807" },
		{ { "--json=yes", GETPPID }, "--json=yes: unknown option, or missing or unexpected value (see --help)" },
		{ { "-f", GETPPID }, "no option -f (see --help)" },
		{ { "--read", "a" }, "--read: funccount reads no files; 'stackcount --read FILE' does" },
		{ { "--minus=a" }, "--minus: funccount reads no files; 'stackcount --read FILE' does" },
		/* clang-format on */
	};

	(void)state;
	check_refused("funccount", rows, ARRAY_SIZE(rows));
}

static void profile_refuses(void **state)
{
	static const struct refused rows[] = {
		/* clang-format off */
		{ { "never" }, "duration: 'never' is not a number of seconds (for example 1 or 0.25)" },
		{ { "1", "2" }, "'2': one duration is enough" },
		{ { "-F", "9", "-c", "9" }, "-F and -c exclude each other" },
		{ { "-L", "1", "-p", "1" }, "-L and -p exclude each other" },
		{ { "-L", "1", "--", "true" }, "-L and a command exclude each other" },
		{ { "--cgroupmap", "/x" }, "--cgroupmap: not supported; -p, -L and a command choose what to profile" },
		{ { "--mntnsmap", "/x" }, "--mntnsmap: not supported; -p, -L and a command choose what to profile" },
		{ { "--stack-storage-size", "0" }, "--stack-storage-size: '0' is not a whole number from 1 to 9223372036854775807" },
		{ { "-l" }, "no option -l (see --help)" },
		{ { "--read", "a" }, "--read: profile reads no files; 'stackcount --read FILE' does" },
		/* clang-format on */
	};

	(void)state;
	check_refused("profile", rows, ARRAY_SIZE(rows));
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
		[OPTION_WITHOUT] = "kprobe",
		[OPTION_MEMORY] = "64M",
		[OPTION_UNWIND_MEMORY] = "64M",
		[OPTION_UNWIND] = "fp",
		[OPTION_KERNEL_UNWIND] = "auto",
		[OPTION_FORMAT] = "folded",
		[OPTION_INTERVAL] = "0.5",
		[OPTION_DURATION] = "0.5",
		[OPTION_CPU] = "0",
		[OPTION_MIN_PERCENT] = "0.5",
		[OPTION_UNTIL] = NANOSLEEP,
	};
	const char *value = row->key < ARRAY_SIZE(values) ? values[row->key] : NULL;

	return value ? value : "5";
}

/* Has @tool an option of this letter or name? */
static bool has_word(enum tool tool, const struct option_row *row, bool is_long)
{
	size_t n;
	const struct option_row *rows = option_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (option_is_of(&rows[i], tool) && (is_long ? strcmp(rows[i].name, row->name) == 0
							     : rows[i].letter == row->letter))
			return true;
	return false;
}

static void each_tool_takes_its_options_and_names_those_of_others(void **state)
{
	size_t n;
	const struct option_row *rows = option_rows(&n);

	(void)state;
	for (size_t i = 0; i < n * TOOL_N * 2; i++) {
		const struct option_row *row = &rows[i / TOOL_N / 2];
		const enum tool tool = (enum tool)(i / 2 % TOOL_N);
		char buffer[64];
		const char *word = option_word(row, i % 2, buffer);
		const char *message;
		struct error e = {};

		if (!word)
			continue;
		if (option_is_of(row, tool)) {
			const char *const taken[MOST_WORDS] = {
				"--version", tool == TOOL_PROFILE ? "1" : GETPPID, word,
				row->argument ? value_of(row) : NULL
			};

			message = refusal(tool_name(tool), taken, &e);
			if (message)
				fail_msg("%s %s: %s", tool_name(tool), word, message);
		} else if (!has_word(tool, row, i % 2)) {
			const char *const others[MOST_WORDS] = { word, "1", GETPPID };

			message = refusal(tool_name(tool), others, &e);
			if (!message || !strstr(message, word))
				fail_msg("%s %s: %s", tool_name(tool), word, message);
		}
	}
}

static void an_option_is_there_once(void **state)
{
	size_t n;
	const struct option_row *rows = option_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (rows[i].tools & rows[k].tools) {
				assert_string_not_equal(rows[i].name, rows[k].name);
				assert_true(!rows[i].letter || rows[i].letter != rows[k].letter);
			}
}

static void the_last_part_of_the_path_is_the_tools_name(void **state)
{
	(void)state;
	assert_int_equal(tool_called("stacksnoop"), TOOL_STACKSNOOP);
	assert_int_equal(tool_called("/opt/funccount/profile"), TOOL_PROFILE);
	assert_int_equal(tool_called("./funccount"), TOOL_FUNCCOUNT);
	assert_int_equal(tool_called("/opt/funccount/stackcount"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called("funccount-7"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called("stacksnoop.old"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called("/opt/funccount/"), TOOL_STACKCOUNT);
	assert_int_equal(tool_called(NULL), TOOL_STACKCOUNT);
}

static void parse(struct options *opt, const char *const words[MOST_WORDS])
{
	char *argv[MOST_WORDS + 1] = {};
	struct error e = {};
	int argc = 0;

	for (; argc < MOST_WORDS && words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	forget_last_line();
	if (options_parse(argc, argv, opt, &e) != 0)
		fail_msg("%s", e.text);
}

static void one_letter_is_what_each_tool_means_by_it(void **state)
{
	struct options opt;

	(void)state;
	parse(&opt, (const char *[MOST_WORDS]){ "stackcount", "-D", "2", "-d", GETPPID });
	assert_true(opt.duration_ns == 2000000000 && opt.delimited && !opt.debug);
	parse(&opt, (const char *[MOST_WORDS]){ "funccount", "-d", "2", "-D", GETPPID });
	assert_true(opt.duration_ns == 2000000000 && !opt.delimited && opt.debug);
	parse(&opt, (const char *[MOST_WORDS]){ "stackcount", "-c", "1", GETPPID });
	assert_int_equal(opt.cpus.n, 1);
	options_fini(&opt);
	parse(&opt, (const char *[MOST_WORDS]){ "profile", "-c", "1000", "2" });
	assert_true(opt.period == 1000 && !opt.cpus.n && opt.duration_ns == 2000000000);
	parse(&opt, (const char *[MOST_WORDS]){ "profile" });
	assert_true(opt.frequency == 49 && !opt.duration_ns && opt.n_patterns == 1);
}

static void options_may_stand_behind_patterns_and_lists_may_come_again(void **state)
{
	struct options opt;

	(void)state;
	parse(&opt,
	      (const char *[MOST_WORDS]){ "stackcount", "-p", "7,8", GETPPID, "-p", "9", "-f" });
	assert_int_equal(opt.n_patterns, 1);
	assert_string_equal(opt.patterns[0], GETPPID);
	assert_int_equal(opt.pids.n, 3);
	assert_string_equal(opt.format, "folded");
	options_fini(&opt);
	parse(&opt, (const char *[MOST_WORDS]){ "stackcount", GETPPID, "--", "ls", "-f" });
	assert_true(!opt.folded && opt.command);
	assert_string_equal(opt.command[1], "-f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stackcount_refuses),
		cmocka_unit_test(stacksnoop_refuses),
		cmocka_unit_test(funccount_refuses),
		cmocka_unit_test(profile_refuses),
		cmocka_unit_test(each_tool_takes_its_options_and_names_those_of_others),
		cmocka_unit_test(an_option_is_there_once),
		cmocka_unit_test(the_last_part_of_the_path_is_the_tools_name),
		cmocka_unit_test(one_letter_is_what_each_tool_means_by_it),
		cmocka_unit_test(options_may_stand_behind_patterns_and_lists_may_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
