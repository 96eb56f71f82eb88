// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * squeeze js|css <IN >OUT - leave out comments, indentation, and blanks that mean nothing. Names and
 * lines stay, so that the page can be read. It knows the part of both languages that src/report/page
 * uses: in JavaScript a statement ends with ';' or '}', and a regular expression stands behind one of
 * the characters in BEFORE_PATTERN.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_PATTERN "(,=:[!&|?{};"
#define CONTINUES "(,[{=?:&|+"

static char last; /* that was written */

static int next(void)
{
	return getchar();
}

static int peek(void)
{
	const int c = getchar();

	return c == EOF ? EOF : ungetc(c, stdin);
}

static void put(int c)
{
	putchar(c);
	last = (char)c;
}

static bool is_word(int c)
{
	return isalnum(c) || c == '_' || c == '$' || c == '#';
}

static void copy_template(void);

/* From behind a quote to the same one. */
static void copy_string(int quote)
{
	put(quote);
	for (int c = next(); c != EOF; c = next()) {
		put(c);
		if (c == '\\')
			put(next());
		else if (c == quote)
			return;
	}
}

/* From behind "${" to its '}'. */
static void copy_substitution(void)
{
	int depth = 1;

	while (depth > 0) {
		const int c = next();

		if (c == EOF)
			return;
		if (c == '\'' || c == '"') {
			copy_string(c);
			continue;
		}
		if (c == '`') {
			copy_template();
			continue;
		}
		depth += (c == '{') - (c == '}');
		put(c);
	}
}

static void copy_template(void)
{
	put('`');
	for (int c = next(); c != EOF; c = next()) {
		put(c);
		if (c == '\\') {
			put(next());
		} else if (c == '`') {
			return;
		} else if (c == '$' && peek() == '{') {
			put(next());
			copy_substitution();
		}
	}
}

static void copy_pattern(void)
{
	bool is_in_class = false;

	put('/');
	for (int c = next(); c != EOF && c != '\n'; c = next()) {
		put(c);
		if (c == '\\')
			put(next());
		else if (c == '[')
			is_in_class = true;
		else if (c == ']')
			is_in_class = false;
		else if (c == '/' && !is_in_class)
			return;
	}
}

/* Only what keeps two words, two signs or two statements apart stays of blanks. */
static void put_blanks(bool has_newline)
{
	const int c = peek();

	if (c == EOF || last == '\0' || last == '\n')
		return;
	if (has_newline && !strchr(CONTINUES, last))
		put('\n');
	else if ((is_word(last) && is_word(c)) || (strchr("+-", last) && last == c))
		put(' ');
}

static void squeeze_js(void)
{
	bool has_newline = false, has_blank = false;

	for (int c = next(); c != EOF; c = next()) {
		if (isspace(c)) {
			has_blank = true;
			has_newline |= c == '\n';
			continue;
		}
		if (c == '/' && peek() == '/') {
			while (c != EOF && c != '\n')
				c = next();
			has_blank = has_newline = true;
			continue;
		}
		ungetc(c, stdin);
		if (has_blank)
			put_blanks(has_newline);
		has_blank = has_newline = false;
		next();
		if (c == '\'' || c == '"')
			copy_string(c);
		else if (c == '`')
			copy_template();
		else if (c == '/' && (last == '\0' || strchr(BEFORE_PATTERN, last)))
			copy_pattern();
		else
			put(c);
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
		if (has_blank && last == '}')
			put('\n');
		else if (has_blank && last && !strchr("{};,:>\n", last) && !strchr("{};,>", c))
			put(' ');
		has_blank = false;
		if (c == '"')
			copy_string(c);
		else
			put(c);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "js") != 0 && strcmp(argv[1], "css") != 0)) {
		fprintf(stderr, "usage: squeeze js|css\n");
		return 2;
	}
	if (strcmp(argv[1], "js") == 0)
		squeeze_js();
	else
		squeeze_css();
	putchar('\n');
	return fflush(stdout) == 0 ? 0 : 1;
}
