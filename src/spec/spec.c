/*
 * The whole difficulty is the ':'. It separates, and it also stands in names:
 *
 *	c:malloc                  separates once
 *	prog:ns::Class::f         the first separates, the pairs are C++'s
 *	prog:::f                  separates, then the global scope's "::"
 *	'c:(?:a|b)'               -r: the second one belongs to the group
 *	'vfs_[[:alpha:]]*'        none separates
 *	'/opt/a\:b/prog:main'     a backslash takes the first one's meaning away
 *
 * Rules, in this order:
 *  - A ':' behind a backslash or in a closed [...] never separates, nor, in a
 *    regular expression, one in (...).
 *  - p, t or u before the first ':' is the kind. A library of that name must
 *    be written as a path, ./p:main.
 *  - A library ends at its first ':'. "\:" in it stands for ':' (other
 *    backslashes stay); in a name the backslash is left to the pattern, where
 *    it means the same.
 *  - In a function's name ':' comes in pairs; a single one there is refused:
 *    no compiler makes such names, and too many parts are a likely slip. With
 *    -r and p:LIB: in front there is no doubt, and the rest is taken as it is.
 *  - ns::f alone is refused: the kernel has no such names, and which library
 *    is meant is not known.
 */
#include "spec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

#define MAX_TEXT 4096

void probe_spec_fini(struct probe_spec *spec)
{
	free(spec->text);
	free(spec->library);
	pattern_free(spec->category);
	pattern_free(spec->provider);
	pattern_free(spec->name);
	*spec = (struct probe_spec){};
}

/* What is being read. @text is as typed; parts of it are [at, at + n). */
struct parse {
	const char *text;
	bool is_regexp;
	struct probe_spec *spec;
	struct error *e;
};

/* As typed, but on one line: control characters as '?'. To free(). */
static char *on_one_line(const char *text)
{
	char *line = xstrdup(text);

	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return line;
}

/* Columns, not bytes: what continues a UTF-8 character takes none. */
static void put_caret(struct strbuf *b, const char *line, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80)
			strbuf_putc(b, ' ');
	strbuf_putc(b, '^');
}

/* "'TEXT': @reason". */
static int refuse(const struct parse *p, const char *reason)
{
	cleanup_free char *line = on_one_line(p->text);

	return error_set(p->e, -EINVAL, "'%s': %s", line, reason);
}

/*
 * The same, and where:
 *
 *	'x:y:z': too many ':'
 *	  x:y:z
 *	     ^
 *
 * The first line is complete without the others, which are left out where they
 * would not fit whole.
 */
static int refuse_at(const struct parse *p, size_t at, const char *reason)
{
	cleanup_free char *line = on_one_line(p->text);
	cleanup(strbuf_fini) struct strbuf b = {};

	strbuf_printf(&b, "'%s': %s\n  %s\n  ", line, reason, line);
	put_caret(&b, line, at);
	if (b.n >= sizeof(p->e->text))
		return refuse(p, reason);
	return error_set(p->e, -EINVAL, "%s", b.text);
}

static int refuse_scope(const struct parse *p, size_t at)
{
	return refuse_at(p, at,
			 "a user function needs its library or program before it, as LIB:ns::f");
}

static int refuse_many(const struct parse *p, size_t at)
{
	return refuse_at(p, at,
			 "too many ':' (an event is FUNCTION, LIB:FUNCTION, p:LIB:FUNCTION, "
			 "t:CATEGORY:EVENT or u:LIB:PROBE)");
}

/*
 * Where the bracket expression that begins at @at ends (behind its ']'), or
 * @at where it is not closed: then '[' is a plain character, or, in a regular
 * expression, refused later. A ']' in first place and those of "[:alpha:]",
 * "[.x.]" and "[=x=]" do not close.
 */
static size_t bracket_end(const char *text, size_t at)
{
	size_t i = at + 1;

	if (text[i] == '^' || text[i] == '!')
		i++;
	if (text[i] == ']')
		i++;
	while (text[i] && text[i] != ']') {
		if (text[i] == '[' && text[i + 1] && strchr(":.=", text[i + 1])) {
			const char close[] = { text[i + 1], ']', '\0' };
			const char *end = strstr(text + i + 2, close);

			i = end ? (size_t)(end - text) + 2 : i + 1;
		} else {
			i++;
		}
	}
	return text[i] ? i + 1 : at;
}

/* The first ':' from @at on that no backslash, bracket or group holds, or the text's end. */
static size_t next_colon(const struct parse *p, size_t at)
{
	const char *text = p->text;
	size_t depth = 0;

	while (text[at] && (text[at] != ':' || depth)) {
		size_t next = at + 1;

		if (text[at] == '\\' && text[next])
			next++;
		else if (text[at] == '[')
			next = bracket_end(text, at) > at ? bracket_end(text, at) : next;
		else if (p->is_regexp && text[at] == '(')
			depth++;
		else if (p->is_regexp && text[at] == ')' && depth)
			depth--;
		at = next;
	}
	return at;
}

/* The first ':' from @at on without a backslash: a library is no pattern. */
static size_t library_end(const char *text, size_t at)
{
	while (text[at] && text[at] != ':')
		at += text[at] == '\\' && text[at + 1] ? 2 : 1;
	return at;
}

static size_t count_colons(const char *text)
{
	return strspn(text, ":");
}

static int take_library(struct parse *p, size_t at, size_t n)
{
	char *library = xstrndup(p->text + at, n);
	size_t wild = strcspn(library, "*?");
	char *to = library;

	p->spec->library = library;
	/* A path may well hold a '*'; a short name cannot. */
	if (library[wild] && !strchr(library, '/'))
		return refuse_at(p, at + wild, "a library is a name or a path, not a pattern");
	for (const char *from = library; *from; from++)
		if (from[0] != '\\' || from[1] != ':')
			*to++ = *from;
	*to = '\0';
	return 0;
}

/*
 * "(?:a|b)" is how Python and Perl write a group that need not be remembered. No
 * group is remembered here, so "(a|b)" is the same, and regcomp() takes that.
 */
static void simplify_groups(char *regexp)
{
	char *to = regexp;
	const char *from = regexp;

	while (*from) {
		size_t n = 1;

		if (from[0] == '\\' && from[1])
			n = 2;
		else if (from[0] == '[' && bracket_end(from, 0))
			n = bracket_end(from, 0);
		memmove(to, from, n);
		to += n;
		from += n;
		if (n == 1 && to[-1] == '(' && from[0] == '?' && from[1] == ':')
			from += 2;
	}
	*to = '\0';
}

static int take_pattern(struct parse *p, size_t at, size_t n, struct pattern **ret)
{
	cleanup_free char *text = xstrndup(p->text + at, n);

	if (p->is_regexp)
		simplify_groups(text);
	return pattern_compile(text, p->is_regexp, ret, p->e);
}

static int take_rest(struct parse *p, size_t at, struct pattern **ret)
{
	return take_pattern(p, at, strlen(p->text + at), ret);
}

/* Pairs of ':' are C++'s; anything else is one separator too many. */
static int check_pairs(const struct parse *p, size_t at)
{
	for (at = next_colon(p, at); p->text[at]; at = next_colon(p, at)) {
		size_t n = count_colons(p->text + at);

		if (n != 2)
			return refuse_many(p, at);
		at += n;
	}
	return 0;
}

/* @at: the ':' behind the library, which begins at @from. */
static int parse_user_function(struct parse *p, size_t from, size_t at)
{
	int err = take_library(p, from, at - from);
	if (err)
		return err;

	p->spec->kind = PROBE_USER_FUNCTION;
	if (!p->text[at + 1])
		return refuse_at(p, at + 1, "no function after the last ':'");
	/* "p:LIB:" leaves no doubt that all the rest is the expression. */
	if (!p->is_regexp || from == 0) {
		err = check_pairs(p, at + 1);
		if (err)
			return err;
	}
	return take_rest(p, at + 1, &p->spec->name);
}

static int parse_kernel_function(struct parse *p, size_t at)
{
	size_t colon = next_colon(p, at);

	p->spec->kind = PROBE_KERNEL_FUNCTION;
	if (!p->text[at])
		return refuse_at(p, at, "no function after the last ':'");
	if (p->text[colon])
		return refuse_at(p, colon,
				 "no kernel function has a ':' in its name "
				 "(a user function is LIB:FUNCTION)");
	return take_rest(p, at, &p->spec->name);
}

/* FUNCTION or LIB:FUNCTION; @colon is the first ':', or the end. */
static int parse_plain(struct parse *p, size_t colon)
{
	size_t n = count_colons(p->text + colon);

	if (n == 0)
		return parse_kernel_function(p, 0);
	if (colon == 0)
		return refuse_at(p, 0,
				 "no library before the ':' (a kernel function is FUNCTION or "
				 "p::FUNCTION)");
	if (n == 2)
		return refuse_scope(p, 0);
	if (n > 3)
		return refuse_many(p, colon);
	return parse_user_function(p, 0, colon);
}

/* p:LIB:FUNCTION or p::FUNCTION; @at is behind the "p:", so below. */
static int parse_p(struct parse *p, size_t at)
{
	size_t colon = library_end(p->text, at);

	if (!p->text[colon])
		return refuse(p, "a function is p:LIB:FUNCTION, or p::FUNCTION in the kernel");
	if (colon == at)
		return parse_kernel_function(p, at + 1);
	if (count_colons(p->text + colon) == 2 && p->text[colon + 2])
		return refuse_scope(p, at);
	return parse_user_function(p, at, colon);
}

static int parse_t(struct parse *p, size_t at)
{
	static const char form[] = "a tracepoint is t:CATEGORY:EVENT";
	size_t colon = next_colon(p, at);

	if (colon == at || !p->text[colon] || !p->text[colon + 1])
		return refuse(p, form);
	if (p->text[next_colon(p, colon + 1)])
		return refuse_at(p, next_colon(p, colon + 1), form);

	p->spec->kind = PROBE_TRACEPOINT;
	int err = take_pattern(p, at, colon - at, &p->spec->category);
	if (err)
		return err;
	return take_rest(p, colon + 1, &p->spec->name);
}

static int parse_u(struct parse *p, size_t at)
{
	static const char form[] = "a USDT probe is u:LIB:PROBE or u:LIB:PROVIDER:PROBE";
	size_t colon = library_end(p->text, at);

	if (colon == at || !p->text[colon] || !p->text[colon + 1])
		return refuse(p, form);

	p->spec->kind = PROBE_USDT;
	int err = take_library(p, at, colon - at);
	if (err)
		return err;

	size_t name = colon + 1;

	colon = next_colon(p, name);
	if (p->text[colon]) {
		if (colon == name || !p->text[colon + 1])
			return refuse(p, form);
		if (p->text[next_colon(p, colon + 1)])
			return refuse_at(p, next_colon(p, colon + 1), form);
		err = take_pattern(p, name, colon - name, &p->spec->provider);
		if (err)
			return err;
		name = colon + 1;
	}
	return take_rest(p, name, &p->spec->name);
}

static int parse_any(struct parse *p)
{
	static const struct {
		char letter;
		int (*parse)(struct parse *p, size_t at);
	} kinds[] = {
		{ 'p', parse_p },
		{ 't', parse_t },
		{ 'u', parse_u },
	};
	size_t colon = next_colon(p, 0);

	for (size_t i = 0; colon == 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (p->text[0] == kinds[i].letter && p->text[1] == ':')
			return kinds[i].parse(p, 2);
	return parse_plain(p, colon);
}

int probe_spec_parse(const char *text, bool is_regexp, struct probe_spec *ret, struct error *e)
{
	cleanup(probe_spec_fini) struct probe_spec spec = {};
	struct parse p = { .text = text, .is_regexp = is_regexp, .spec = &spec, .e = e };

	if (!text[0])
		return error_set(e, -EINVAL,
				 "an event is empty (as vfs_read, c:malloc, t:sched:sched_switch "
				 "or u:LIB:PROBE)");
	if (strlen(text) > MAX_TEXT)
		return error_set(e, -EINVAL, "'%.40s...': an event is at most %d characters", text,
				 MAX_TEXT);
	spec.text = xstrdup(text);

	int err = parse_any(&p);
	if (err)
		return err;

	*ret = spec;
	spec = (struct probe_spec){}; /* the caller's now */
	return 0;
}
