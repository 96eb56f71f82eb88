// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The difficulty of this grammar is ':', which separates parts and also stands in names:
 *
 *	c:malloc                  separates once
 *	prog:ns::Class::f         the first separates, the pairs are C++'s
 *	prog:::f                  the first separates, "::" is the global scope
 *	'/opt/a\:b/prog:main'     the backslash makes the first a part of the path
 *
 * Rules, in this order:
 *  - A ':' after a backslash never separates.
 *  - p, r, t, u or e before the first ':' is the kind. For a library of that name the
 *    user writes a path, ./p:main.
 *  - A library ends at its first ':'. In a library, "\:" stands for ':', and
 *    other backslashes stay. In a name, the pattern interprets the backslash,
 *    and "\:" means the same.
 *  - In a function's name, ':' comes in pairs. We refuse a single one, because
 *    no compiler makes such names, and too many parts are a likely slip. Behind
 *    p:LIB:, p::, r:LIB: or r:: there is no doubt, and the rest is the name.
 *  - We refuse ns::f alone: the kernel has no such names, and the text does not
 *    say which library the user means.
 */
#include "match/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"

#define MAX_TEXT 4096

/* A copy of @text with control characters as '?', so that it is one line. The caller frees it. */
static char *on_one_line(const char *text)
{
	char *line = xstrdup(text);

	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return line;
}

/* Put '^' below byte @at of @line. Only the first byte of a UTF-8 character takes a column. */
static void put_caret(struct strbuf *b, const char *line, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80)
			strbuf_putc(b, ' ');
	strbuf_putc(b, '^');
}

/* Fail by -EINVAL with "'TEXT': @reason". */
static int caret_refuse(const char *text, const char *reason, struct error *e)
{
	cleanup_free char *line = on_one_line(text);

	return error_set(e, -EINVAL, "'%s': %s", line, reason);
}

int caret_add(const char *text, size_t at, struct error *e)
{
	cleanup_free char *line = on_one_line(text), *message = on_one_line(e->text);
	cleanup(strbuf_fini) struct strbuf b = {};
	int code = e->code;

	strbuf_printf(&b, "%s\n  %s\n  ", message, line);
	put_caret(&b, line, at);
	if (b.n >= sizeof(e->text))
		return code;
	code = error_set(e, code, "%s", b.text);
	e->has_lines = true;
	return code;
}

int caret_refuse_at(const char *text, size_t at, const char *reason, struct error *e)
{
	const int code = caret_refuse(text, reason, e);

	return e ? caret_add(text, at, e) : code;
}

/* --- the parser --- */

void probe_spec_fini(struct probe_spec *spec)
{
	free(spec->text);
	free(spec->library);
	pattern_freep(&spec->category);
	pattern_freep(&spec->provider);
	pattern_freep(&spec->name);
	*spec = (struct probe_spec){};
}

/* The state of a parse. @text is as typed; functions name a part of it by [at, at + n). */
struct parse {
	const char *text;
	bool is_regexp;
	struct probe_spec *spec;
	struct error *e;
};

/* Fail with "'TEXT': @reason". */
static int refuse_spec(const struct parse *p, const char *reason)
{
	return caret_refuse(p->text, reason, p->e);
}

static int refuse_at(const struct parse *p, size_t at, const char *reason)
{
	return caret_refuse_at(p->text, at, reason, p->e);
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
			 "r:LIB:FUNCTION, t:CATEGORY:EVENT or u:LIB:PROBE)");
}

/* The first ':' from @at on that follows no backslash, or the end. */
static size_t next_colon(const struct parse *p, size_t at)
{
	while (p->text[at] && p->text[at] != ':')
		at += p->text[at] == '\\' && p->text[at + 1] ? 2 : 1;
	return at;
}

static size_t count_colons(const char *text)
{
	return strspn(text, ":");
}

static int parse_library(struct parse *p, size_t at, size_t n)
{
	char *library = xstrndup(p->text + at, n);
	size_t wild = strcspn(library, "*?");
	char *to = library;

	p->spec->library = library;
	/* A path may contain a '*', a short name cannot. */
	if (library[wild] && !strchr(library, '/'))
		return refuse_at(p, at + wild, "a library is a name or a path, not a pattern");
	for (const char *from = library; *from; from++)
		if (from[0] != '\\' || from[1] != ':')
			*to++ = *from;
	*to = '\0';
	return 0;
}

static int compile_part(struct parse *p, size_t at, size_t n, struct pattern **ret)
{
	cleanup_free char *text = xstrndup(p->text + at, n);

	return pattern_compile(text, p->is_regexp, ret, p->e);
}

static int compile_rest(struct parse *p, size_t at, struct pattern **ret)
{
	return compile_part(p, at, strlen(p->text + at), ret);
}

/* Pairs of ':' are C++'s. Anything else is one separator too many. */
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

/* @at is the ':' after the library, which begins at @from. */
static int parse_user_function(struct parse *p, size_t from, size_t at)
{
	int err = parse_library(p, from, at - from);
	if (err)
		return err;

	p->spec->kind = PROBE_USER_FUNCTION;
	if (!p->text[at + 1])
		return refuse_at(p, at + 1, "no function after the last ':'");
	err = from == 0 ? check_pairs(p, at + 1) : 0;
	return err ? err : compile_rest(p, at + 1, &p->spec->name);
}

static int parse_kernel_function(struct parse *p, size_t at)
{
	p->spec->kind = PROBE_KERNEL_FUNCTION;
	if (!p->text[at])
		return refuse_at(p, at, "no function after the last ':'");
	return compile_rest(p, at, &p->spec->name);
}

/* FUNCTION or LIB:FUNCTION. @colon is the first ':', or the end. */
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

/* p:LIB:FUNCTION or p::FUNCTION. @at is the place after "p:", as in parse_t() and parse_u(). */
static int parse_p(struct parse *p, size_t at)
{
	size_t colon = next_colon(p, at);

	if (!p->text[colon])
		return refuse_spec(p, "a function is p:LIB:FUNCTION, or p::FUNCTION in the kernel");
	if (colon == at)
		return parse_kernel_function(p, at + 1);
	if (count_colons(p->text + colon) == 2 && p->text[colon + 2])
		return refuse_scope(p, at);
	return parse_user_function(p, at, colon);
}

/* r:FUNCTION, r::FUNCTION or r:LIB:FUNCTION. */
static int parse_r(struct parse *p, size_t at)
{
	p->spec->is_return = true;
	if (!p->text[at])
		return refuse_spec(p, "returns are r:LIB:FUNCTION, or r:FUNCTION in the kernel");
	return p->text[next_colon(p, at)] ? parse_p(p, at) : parse_kernel_function(p, at);
}

/* BEFORE:NAME, the end of an event of @form. */
static int parse_pair(struct parse *p, size_t at, const char *form, struct pattern **before)
{
	const size_t colon = next_colon(p, at);

	if (colon == at || !p->text[colon] || !p->text[colon + 1])
		return refuse_spec(p, form);
	if (p->text[next_colon(p, colon + 1)])
		return refuse_at(p, next_colon(p, colon + 1), form);

	const int err = compile_part(p, at, colon - at, before);

	return err ? err : compile_rest(p, colon + 1, &p->spec->name);
}

static int parse_t(struct parse *p, size_t at)
{
	p->spec->kind = PROBE_TRACEPOINT;
	return parse_pair(p, at, "a tracepoint is t:CATEGORY:EVENT", &p->spec->category);
}

static int parse_u(struct parse *p, size_t at)
{
	static const char form[] = "a USDT probe is u:LIB:PROBE or u:LIB:PROVIDER:PROBE";
	const size_t colon = next_colon(p, at), name = colon + 1;

	if (colon == at || !p->text[colon] || !p->text[name])
		return refuse_spec(p, form);
	p->spec->kind = PROBE_USDT;

	const int err = parse_library(p, at, colon - at);

	if (err)
		return err;
	return p->text[next_colon(p, name)] ? parse_pair(p, name, form, &p->spec->provider)
					    : compile_rest(p, name, &p->spec->name);
}

/* The letters behind the event. perf has more of them, which choose other registers and rings. */
static int parse_modifiers(struct parse *p, size_t at)
{
	bool has_user = false, has_kernel = false;

	for (; p->text[at]; at++) {
		if (p->text[at] == 'p' || p->text[at] == 'P')
			return refuse_at(p, at,
					 "precise events (:p) are not supported: the kernel gives "
					 "them no stack in BPF");
		if (p->text[at] != 'u' && p->text[at] != 'k')
			return refuse_at(p, at, "an event ends with :u (user) or :k (kernel)");
		*(p->text[at] == 'u' ? &has_user : &has_kernel) = true;
	}
	p->spec->exclude_user = has_kernel && !has_user;
	p->spec->exclude_kernel = has_user && !has_kernel;
	return 0;
}

static int parse_e(struct parse *p, size_t at)
{
	static const char form[] = "a perf event is e:EVENT, e:EVENT:u or e:EVENT:k "
				   "(a program e is written as a path, ./e:FUNCTION)";
	const size_t end = next_colon(p, at), slash = at + strcspn(p->text + at, "/");
	const size_t modifiers = end + (p->text[end] == ':');

	if (p->text[slash])
		return refuse_at(p, slash,
				 "events by source and terms are not supported; the raw form of "
				 "cpu/event=0x3c,umask=1/ is e:r13c (umask, then event)");
	if (end == at || (modifiers > end && !p->text[modifiers]))
		return refuse_spec(p, form);
	p->spec->kind = PROBE_PERF_EVENT;

	const int err = parse_modifiers(p, modifiers);

	return err ? err : compile_part(p, at, end - at, &p->spec->name);
}

static int parse_any_kind(struct parse *p)
{
	static const struct {
		char letter;
		int (*parse)(struct parse *p, size_t at);
	} kinds[] = {
		{ 'p', parse_p }, { 'r', parse_r }, { 't', parse_t },
		{ 'u', parse_u }, { 'e', parse_e },
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
		return error_set(
			e, -EINVAL,
			"an event must not be empty (examples: vfs_read, c:malloc, t:sched:sched_switch "
			"or u:LIB:PROBE)");
	if (strlen(text) > MAX_TEXT)
		return error_set(e, -EINVAL, "'%.40s...': an event is at most %d characters", text,
				 MAX_TEXT);
	spec.text = xstrdup(text);

	int err = parse_any_kind(&p);
	if (err)
		return err;

	*ret = spec;
	spec = (struct probe_spec){}; /* the caller's now */
	return 0;
}
