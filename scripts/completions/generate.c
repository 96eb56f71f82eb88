// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * scripts/completions/generate.c - make completions from the table of options. make runs it:
 *
 *	generate bash|zsh|fish TOOL <scripts/completions/SHELL.in >build/completions/...
 *
 * The templates contain all that does not depend on the options. A word between two @ stands for
 * text from the table, @OPTIONS@ for the descriptions of all options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tool/options.h"

/*
 * The values that zsh and fish offer for an option. Nothing is known about the values of other
 * keys.
 */
static const struct value {
	enum option_key key;
	const char *zsh;
	const char *fish;
	bool is_single; /* takes one value, and comes once */
} values[] = {
	{ OPTION_PID, "_sequence -s , _pids", "__fish_complete_list , __fish_complete_pids",
	  false },
	{ OPTION_CPU, "_sequence compadd - /sys/devices/system/cpu/cpu<->(N\\:t\\:s/cpu/)",
	  "__fish_complete_list , __@TOOL@_cpus", false },
	{ OPTION_WITHOUT, "_sequence compadd - @BACKENDS@",
	  "__fish_complete_list , __@TOOL@_backends", false },
	{ OPTION_UNWIND, "compadd - @WAYS@", "__@TOOL@_ways", true },
	{ OPTION_KERNEL_UNWIND, "compadd - @WALKERS@", "__@TOOL@_walkers", true },
	{ OPTION_FORMAT, "compadd - @FORMATS@", "__@TOOL@_formats", true },
	{ OPTION_OUTPUT, "_files", "__fish_complete_path", false },
	{ OPTION_MINUS, "_files", "__fish_complete_path", false },
	{ OPTION_SUM, "_@TOOL@_sum", "__@TOOL@_sums", true },
	{ OPTION_UNIT, "compadd - @UNITS@", "__@TOOL@_units", true },
};

static void expand(const char *text, enum tool tool);

static const struct value *value_of(const struct option_row *row)
{
	static const struct value nothing;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].key == row->key)
			return &values[i];
	return &nothing;
}

/* The tool's next row after @row, or its first if @row is NULL. NULL: there is no other. */
static const struct option_row *next_row(const struct option_row *row, enum tool tool)
{
	for (row = row ? row + 1 : option_rows; row->name; row++)
		if (option_is_of(row, tool))
			return row;
	return NULL;
}

/* Print "-p|--pid". */
static void print_words(const struct option_row *row, const char *between)
{
	if (row->letter)
		(void)printf("-%c%s", row->letter, between);
	(void)printf("--%s", row->name);
}

static void print_bash_options(enum tool tool)
{
	const char *between = "";

	for (const struct option_row *row = NULL; (row = next_row(row, tool)); between = " ") {
		(void)fputs(between, stdout);
		print_words(row, " ");
	}
}

/*
 * Print the words of the options with @key, and @with between; OPTION_FLAG: of all options
 * with a value. If there are none, print '' for a word that no option is.
 */
static void print_words_of(enum tool tool, enum option_key key, const char *with)
{
	const char *between = "";

	for (const struct option_row *row = NULL; (row = next_row(row, tool));) {
		if (key == OPTION_FLAG ? !row->argument : row->key != key)
			continue;
		(void)fputs(between, stdout);
		print_words(row, with);
		between = with;
	}
	if (!between[0])
		(void)fputs("''", stdout);
}

/* Options with values may come more than once, unless they take a single one. */
static void print_zsh_option(const struct option_row *row, enum tool tool)
{
	const struct value *value = value_of(row);
	const char *equals = row->argument ? "=" : "";

	(void)fputs("\t'", stdout);
	if (value->zsh && !value->is_single)
		(void)fputs("*", stdout);
	else if (row->letter)
		(void)printf("(-%c --%s)", row->letter, row->name);
	if (row->letter)
		(void)printf("'{-%c%s,--%s%s}'", row->letter, row->argument ? "+" : "", row->name,
			     equals);
	else
		(void)printf("--%s%s", row->name, equals);
	(void)printf("[%s]", row->help);
	if (row->argument)
		(void)printf(":%s:", row->argument);
	if (value->zsh)
		expand(value->zsh, tool);
	(void)puts("' \\");
}

static void print_fish_option(const struct option_row *row, enum tool tool)
{
	const struct value *value = value_of(row);

	(void)printf("complete -c %s -n 'not __%s_has_command'", tool_name(tool), tool_name(tool));
	if (row->letter)
		(void)printf(" -s %c", row->letter);
	(void)printf(" -l %s%s -d '%s'", row->name, row->argument ? " -x" : "", row->help);
	if (value->fish) {
		(void)fputs(" -a '(", stdout);
		expand(value->fish, tool);
		(void)fputs(")'", stdout);
	}
	(void)puts("");
}

static void print_zsh_options(enum tool tool)
{
	for (const struct option_row *row = NULL; (row = next_row(row, tool));)
		print_zsh_option(row, tool);
}

static void print_fish_options(enum tool tool)
{
	for (const struct option_row *row = NULL; (row = next_row(row, tool));)
		print_fish_option(row, tool);
}

static void (*print_options)(enum tool tool);
static const char *separator; /* between words that a case matches */

/* Print the text for the @word between two @. False: there is no such word. */
static bool print_word(const char *word, size_t n, enum tool tool)
{
	static const struct {
		const char *word;
		enum option_key key;
	} patterns[] = {
		{ "PID", OPTION_PID },         { "CPU", OPTION_CPU },
		{ "WITHOUT", OPTION_WITHOUT }, { "UNWIND", OPTION_UNWIND },
		{ "FORMAT", OPTION_FORMAT },   { "OUTPUT", OPTION_OUTPUT },
		{ "MINUS", OPTION_MINUS },     { "KERNEL", OPTION_KERNEL_UNWIND },
		{ "SUM", OPTION_SUM },         { "UNIT", OPTION_UNIT },
		{ "VALUE", OPTION_FLAG },
	};
	static const struct {
		const char *word;
		enum option_key key;
	} lists[] = {
		{ "BACKENDS", OPTION_WITHOUT },
		{ "WAYS", OPTION_UNWIND },
		{ "WALKERS", OPTION_KERNEL_UNWIND },
		{ "FORMATS", OPTION_FORMAT },
		{ "UNITS", OPTION_UNIT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strlen(lists[i].word) == n && strncmp(lists[i].word, word, n) == 0) {
			(void)fputs(option_values[lists[i].key], stdout);
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (strlen(patterns[i].word) != n || strncmp(patterns[i].word, word, n) != 0)
			continue;
		print_words_of(tool, patterns[i].key, separator);
		return true;
	}
	if (n == 4 && strncmp(word, "TOOL", n) == 0)
		(void)fputs(tool_name(tool), stdout);
	else if (n == 5 && strncmp(word, "KINDS", n) == 0)
		(void)fputs(tool == TOOL_PROFILE ? "" : "r: t: u: e:", stdout);
	else if (n == 7 && strncmp(word, "OPTIONS", n) == 0)
		print_options(tool);
	else
		return false;
	return true;
}

static void expand(const char *text, enum tool tool)
{
	for (const char *at; (at = strchr(text, '@')); text = at) {
		size_t n = strcspn(++at, "@");

		(void)printf("%.*s", (int)(at - 1 - text), text);
		if (at[n] && print_word(at, n, tool))
			at += n + 1;
		else
			(void)putchar('@');
	}
	(void)fputs(text, stdout);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(enum tool tool);
		const char *separator;
	} shells[] = {
		{ "bash", print_bash_options, " | " },
		{ "zsh", print_zsh_options, " | " },
		{ "fish", print_fish_options, " " },
	};
	char line[4096];

	for (size_t i = 0; argc == 3 && i < ARRAY_SIZE(shells); i++)
		if (strcmp(argv[1], shells[i].name) == 0) {
			print_options = shells[i].print;
			separator = shells[i].separator;
		}
	if (!print_options) {
		(void)fputs("usage: generate bash|zsh|fish TOOL\n", stderr);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin))
		expand(line, tool_called(argv[2]));
	return fflush(stdout) == 0 ? 0 : 1;
}
