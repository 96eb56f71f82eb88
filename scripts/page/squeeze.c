// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * squeeze js|css <IN >OUT - leave out comments, indentation, and blanks that mean nothing. Names
 * stay, so that the page can be read. "const" becomes "let", and "(a) =>" becomes "a=>". It knows
 * the part of both languages that src/report/page uses: in JavaScript a statement ends with ';' or
 * '}', and a regular expression stands behind one of the characters in BEFORE_PATTERN.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_PATTERN "(,=:[!&|?{};"

#define MOST_NESTED 64

static const char *at; /* the rest of the input, which ends with a NUL */
static int last;       /* character that was written */

/* Brackets that are open, and whether the last statement in each begins with "let". */
static int depth;
static bool is_let[MOST_NESTED];

static int next(void)
{
	return *at ? (unsigned char)*at++ : EOF;
}

static int peek(void)
{
	return *at ? (unsigned char)*at : EOF;
}

static bool waits(int c)
{
	return c == ';' || c == ',';
}

/* A ';' waits for the next character, because none is needed before '}'; so does a ','. */
static void put(int c)
{
	if ((last == ';' && c != '}') || (last == ',' && !strchr(")]}", c)))
		putchar(last);
	if (!waits(c))
		putchar(c);
	last = c;
}

/* Of a string, every ';' and ',' stays. */
static void put_raw(int c)
{
	if (waits(last))
		putchar(last);
	putchar(c);
	last = waits(c) ? '\0' : c;
}

static bool is_word(int c)
{
	return isalnum(c) || c == '_' || c == '$' || c == '#';
}

/* From behind a quote to the same one. */
static void copy_string(int quote)
{
	put_raw(quote);
	for (int c = next(); c != EOF; c = next()) {
		put_raw(c);
		if (c == '\\')
			put_raw(next());
		else if (c == quote)
			return;
	}
}

/* From behind a '`' to the next one. There is no template in a template's "${}". */
static void copy_template(void)
{
	int open = 0, before = '\0';

	put_raw('`');
	for (int c = next(); c != EOF; c = next()) {
		if (open > 0 && (c == '\'' || c == '"')) {
			copy_string(c);
			continue;
		}
		put_raw(c);
		if (c == '\\')
			put_raw(next());
		else if (c == '`')
			return;
		else if (c == '{' && (open > 0 || before == '$'))
			open++;
		else if (c == '}' && open > 0)
			open--;
		before = c;
	}
}

static void copy_pattern(void)
{
	bool is_in_class = false;

	put_raw('/');
	for (int c = next(); c != EOF && c != '\n'; c = next()) {
		put_raw(c);
		if (c == '\\')
			put_raw(next());
		else if (c == '[')
			is_in_class = true;
		else if (c == ']')
			is_in_class = false;
		else if (c == '/' && !is_in_class)
			return;
	}
}

/* Only blanks that keep two words or signs apart stay, and newlines where a block ends. */
static void put_blanks(bool has_newline)
{
	const int c = peek();

	if (c == EOF || last == '\0' || last == '\n')
		return;
	if (has_newline && last == '}' && c != '}')
		put('\n');
	else if ((is_word(last) && is_word(c)) || (strchr("+-", last) && last == c))
		put(' ');
}

/* The bytes of "let " or "const " at the beginning of the input. */
static size_t n_declaration(void)
{
	return strncmp(at, "const ", 6) == 0 ? 6 : strncmp(at, "let ", 4) == 0 ? 4 : 0;
}

/*
 * "const" becomes "let", since nothing is assigned to it anyway. At the beginning of a statement,
 * "const a = 1; let b = 2;" becomes "let a=1,b=2;".
 */
static bool put_declaration(bool begins_statement)
{
	const size_t n = n_declaration();
	const bool is_joined = begins_statement && is_let[depth] && last == ';';

	if (begins_statement)
		is_let[depth] = n > 0;
	if (!n)
		return false;
	if (is_joined) {
		last = ',';
	} else {
		for (const char *word = "let"; *word; word++)
			put(*word);
	}
	at += is_joined ? n : n - 1;
	return true;
}

/* The one parameter of a function needs no brackets. */
static bool put_parameter(void)
{
	size_t n = 1;

	if (*at != '(')
		return false;
	while (is_word((unsigned char)at[n]))
		n++;
	if (n == 1 || strncmp(at + n, ") =>", 4) != 0)
		return false;
	for (size_t i = 1; i < n; i++)
		put((unsigned char)at[i]);
	at += n + 1;
	return true;
}

static void put_code(int c)
{
	if (strchr("({[", c) && depth + 1 < MOST_NESTED)
		is_let[++depth] = false;
	else if (strchr(")}]", c) && depth > 0)
		depth--;
	put(c);
}

/* Skips blanks and comments. Returns whether there were any, and in *@has_newline if lines ended.
 */
static bool skip_blanks(bool *has_newline)
{
	const char *begin = at;

	*has_newline = false;
	for (;;) {
		const bool is_comment = at[0] == '/' && at[1] == '/';

		if (!is_comment && !isspace((unsigned char)*at))
			return at > begin;
		at += is_comment ? strcspn(at, "\n") : 1;
		*has_newline |= is_comment || at[-1] == '\n';
	}
}

static void squeeze_js(void)
{
	for (bool has_newline; peek() != EOF;) {
		if (skip_blanks(&has_newline))
			put_blanks(has_newline);
		if (is_word(peek()) && !is_word(last) && last != '.' &&
		    put_declaration(last == ';' || last == '{' || last == '}' || last == '\n'))
			continue;
		if (!is_word(last) && put_parameter())
			continue;

		const int c = next();

		if (c == '\'' || c == '"')
			copy_string(c);
		else if (c == '`')
			copy_template();
		else if (c == '/' && (last == '\0' || strchr(BEFORE_PATTERN, last)))
			copy_pattern();
		else if (c != EOF)
			put_code(c);
	}
}

static void skip_css_comment(void)
{
	int before = '\0';

	next();
	for (int c = next(); c != EOF && !(before == '*' && c == '/'); c = next())
		before = c;
}

static void squeeze_css(void)
{
	bool has_blank = false;

	for (int c = next(); c != EOF; c = next()) {
		if (isspace(c)) {
			has_blank = true;
			continue;
		}
		if (c == '/' && peek() == '*') {
			skip_css_comment();
			continue;
		}
		if (has_blank && last && !strchr("{};,:>", last) && !strchr("{};,>", c))
			put(' ');
		has_blank = false;
		if (c == '"')
			copy_string(c);
		else
			put(c);
	}
}

static char *read_all(FILE *in)
{
	size_t n = 0, capacity = 1 << 20;
	char *text = calloc(capacity, 1);

	while (text && n + 1 < capacity && !feof(in) && !ferror(in))
		n += fread(text + n, 1, capacity - 1 - n, in);
	return feof(in) && !ferror(in) ? text : NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "js") != 0 && strcmp(argv[1], "css") != 0)) {
		fprintf(stderr, "usage: squeeze js|css\n");
		return 2;
	}
	at = read_all(stdin);
	if (!at)
		return 1;
	if (strcmp(argv[1], "js") == 0)
		squeeze_js();
	else
		squeeze_css();
	put('\n');
	return fflush(stdout) == 0 ? 0 : 1;
}
