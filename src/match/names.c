// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Take written names apart:
 *
 *	void ns::apply<int>(int, std::vector<int> const&) const [clone .cold]
 *	     ^bare name    ^parameters                    ^qualifiers
 */
#include "match/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/demangle.h"

static bool is_mangled(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R' || symbol[1] == 'D');
}

/* Is all text from @at on qualifiers, which may follow the parameters? */
static bool are_qualifiers(const char *at)
{
	static const char *const words[] = { " const", " volatile", " &&", " &", " noexcept" };

	while (*at) {
		size_t i = 0;

		if (strncmp(at, " [clone", 7) == 0)
			return true;
		while (i < ARRAY_SIZE(words) && strncmp(at, words[i], strlen(words[i])) != 0)
			i++;
		if (i == ARRAY_SIZE(words))
			return false;
		at += strlen(words[i]);
	}
	return true;
}

/* The beginning of the parameters in @name; NULL: it has none. */
static char *find_parameters(char *name)
{
	size_t clone = strlen(name), depth = 0;
	char *cut = strstr(name, " [clone");

	if (cut)
		clone = (size_t)(cut - name);

	size_t close = clone;

	while (close > 0 && name[close - 1] != ')')
		close--;
	if (close == 0 || !are_qualifiers(name + close))
		return NULL;
	for (size_t i = close; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (depth > 0)
			continue;
		/* "operator()" without parameters, "(anonymous namespace)" at the front. */
		if (i == 0 || (i >= 8 && strncmp(name + i - 8, "operator", 8) == 0))
			return NULL;
		return name + i;
	}
	return NULL;
}

/*
 * The name behind the return type. It begins behind the last space that is in no brackets and
 * before any operator.
 */
static const char *skip_return_type(const char *name)
{
	const char *stop = strstr(name, "operator"), *found = name;
	int depth = 0;

	for (const char *p = name; *p && p != stop; p++) {
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(">)]}", *p))
			depth--;
		else if (*p == ' ' && depth == 0)
			found = p + 1;
	}
	return found;
}

/*
 * May @word be part of a word that the language itself adds?
 *
 * Demangling takes microseconds, and a binary may have 100,000 names. A mangled name contains all
 * identifiers as they were written, except these words. So a symbol must contain the other
 * identifiers of a glob, or it need not be demangled.
 */
static bool is_builtin(const char *word, size_t n)
{
	/* clang-format off */
	static const char *const builtin[] = {
		"std", "allocator", "basic_string", "basic_istream", "basic_ostream",
		"basic_iostream", "char_traits", "iostream", "string", "operator", "unsigned",
		"signed", "char8_t", "char16_t", "char32_t", "wchar_t", "short", "int", "long",
		"__int128", "bool", "float", "__float128", "double", "decimal", "void", "const",
		"volatile", "restrict", "decltype", "nullptr_t", "auto", "complex", "imaginary",
		"anonymous", "namespace", "_GLOBAL_", "lambda", "unnamed", "type", "clone",
		"vtable", "thunk", "virtual", "guard", "variable", "typeinfo", "name", "covariant",
		"construction", "reference", "temporary", "initialization", "function", "wrapper",
		"default", "static", "alias", "transaction", "module", "requires", "new", "delete",
		"throw", "noexcept", "sizeof", "alignof", "true", "false",
		/* Rust */
		"closure", "shim", "impl", "dyn", "extern", "unsafe", "for", "mut", "str", "usize",
		"isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128",
		"f32", "f64",
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
		if (memmem(builtin[i], strlen(builtin[i]), word, n))
			return true;
	return false;
}

void name_pattern_init(struct name_pattern *np, const struct pattern *pattern)
{
	const char *text = pattern_text(pattern);

	*np = (struct name_pattern){ .pattern = pattern };
	/* In a regular expression, a written word need not occur in the name. */
	if (strpbrk(text, "[\\^$|+{") || strstr(text, ")*") || strstr(text, ")?"))
		return;
	while (*text && np->n_needles < NAME_NEEDLES) {
		size_t n = 0;

		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;

		bool is_last_optional = n && (text[n] == '*' || text[n] == '?');
		size_t n_sure = n - is_last_optional;

		/* Only the written form may have a number's suffix: 5u. */
		if (n_sure && !isdigit((unsigned char)*text) && !is_builtin(text, n_sure)) {
			np->needles[np->n_needles].text = text;
			np->needles[np->n_needles].n = n_sure;
			np->n_needles++;
		}
		text += n ? n : 1;
	}
}

static bool may_match(const struct name_pattern *np, const char *symbol)
{
	size_t n = strlen(symbol);

	for (size_t i = 0; i < np->n_needles; i++)
		if (!memmem(symbol, n, np->needles[i].text, np->needles[i].n))
			return false;
	return true;
}

bool names_match_symbol(const struct pattern *pattern, const char *symbol)
{
	cleanup_free char *plain = name_without_number(symbol);

	return pattern_matches(pattern, symbol) || (plain && pattern_matches(pattern, plain));
}

bool names_match(const struct name_pattern *np, const char *symbol)
{
	const struct pattern *pattern = np->pattern;

	if (names_match_symbol(pattern, symbol))
		return true;
	if (!is_mangled(symbol) || !may_match(np, symbol))
		return false;

	cleanup_free char *name = demangle(symbol);

	if (!name)
		return false;
	if (pattern_matches(pattern, name))
		return true;

	char *open = find_parameters(name);

	if (open)
		*open = '\0';

	const char *bare = skip_return_type(name);

	if ((open && pattern_matches(pattern, name)) ||
	    (bare != name && pattern_matches(pattern, bare)))
		return true;
	if (!open || bare == name)
		return false;
	*open = '('; /* with parameters, but without the return type */
	return pattern_matches(pattern, bare);
}

char *names_written(const char *symbol, bool is_raw)
{
	char *name = is_mangled(symbol) && !is_raw ? demangle(symbol) : name_without_number(symbol);

	return name ? name : xstrdup(symbol);
}

char *names_bare(const char *symbol)
{
	cleanup_free char *name = names_written(symbol, false);
	char *open = is_mangled(symbol) ? find_parameters(name) : NULL;

	if (open)
		*open = '\0';
	return xstrdup(is_mangled(symbol) ? skip_return_type(name) : name);
}

bool names_is_better(const char *a, const char *b)
{
	size_t a_lines = strspn(a, "_"), b_lines = strspn(b, "_");
	size_t n_a = strlen(a), n_b = strlen(b);

	if (a_lines != b_lines)
		return a_lines < b_lines;
	return n_a != n_b ? n_a < n_b : strcmp(a, b) < 0;
}
