// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Names come from foreign files, and a few hundred bytes of a name can stand for
 * gigabytes. Every scheme has references back ("the same type again"), and n of
 * them can double the text n times. But libiberty bounds the depth, not the output,
 * and its callbacks cannot stop it. So we leave it by longjmp() when the output is
 * too long.
 *
 * This leaks nothing. With a callback, libiberty demangles C++ on the stack. It does
 * so for Rust, too, except that an identifier in punycode is on the heap during its
 * output. No identifier begins with punctuation, so for Rust the jump waits for
 * punctuation. D has no callback, so we count the references of a name beforehand.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"

#define LLVM ".llvm."
#define CLONE " [clone "
#define MAX_MANGLED 4096
#define MAX_DEMANGLED 65536
/*
 * With k references the text grows to at most 3^(k/3) times its length: 6,561 times
 * for 24. Three references on each level are the worst case.
 */
#define MAX_REFERENCES 24

/* libiberty's D part calls it. libiberty's own xrealloc() would link a second xmalloc(). */
void *xrealloc(void *p, size_t size)
{
	return xreallocarray(p, size, 1);
}

struct output {
	struct strbuf *text;
	bool is_too_long;
	/* We may leave libiberty if the text begins with one of these characters; "": always. */
	const char *leave_at;
	jmp_buf enough;
};

static void append_output(const char *text, size_t n, void *context)
{
	struct output *out = context;

	if (n == 0) /* @text may be NULL */
		return;
	if (!out->is_too_long && n <= MAX_DEMANGLED - out->text->n) {
		strbuf_put(out->text, text, n);
		return;
	}
	out->is_too_long = true;
	if (!out->leave_at[0] || strchr(out->leave_at, text[0]))
		longjmp(out->enough, 1);
}

typedef int demangle_function(const char *name, int options, demangle_callbackref callback,
			      void *context);

/* Not inlined, so the caller has no variables that longjmp() could spoil. */
static __attribute__((noinline)) bool run_demangler(demangle_function *function, const char *name,
						    struct output *out)
{
	if (setjmp(out->enough) != 0)
		return false;
	return function(name, DMGL_PARAMS | DMGL_ANSI, append_output, out) && !out->is_too_long &&
	       out->text->n > 0;
}

static char *demangle_with(demangle_function *function, const char *name, const char *leave_at)
{
	cleanup(strbuf_fini) struct strbuf text = {};
	struct output out = { .text = &text, .leave_at = leave_at };

	if (!run_demangler(function, name, &out))
		return NULL;
	return TAKE(text.text);
}

static char *demangle_d(const char *name)
{
	size_t n_references = 0;

	for (const char *c = name; *c; c++)
		n_references += *c == 'Q';
	if (n_references > MAX_REFERENCES)
		return NULL;
	return dlang_demangle(name, DMGL_PARAMS | DMGL_ANSI);
}

/* Legacy Rust names look like C++ names with a hash at the end, so try Rust first. */
static char *demangle_whole(const char *name)
{
	bool is_long = strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED;
	char *text = NULL;

	if (is_long || name[0] != '_')
		return NULL;
	if (name[1] == 'R' || name[1] == 'Z')
		text = demangle_with(rust_demangle_callback, name, "<>()[]&,: ");
	if (!text && (name[1] == 'Z' || name[1] == 'G'))
		text = demangle_with(cplus_demangle_v3_callback, name, "");
	if (!text && name[1] == 'D')
		text = demangle_d(name);
	return text;
}

/* Other suffixes may follow: "f.llvm.12.cold". Demanglers make "f() [clone .llvm.12]". */
char *name_without_number(const char *name)
{
	const char *at = strstr(name, LLVM);

	if (!at || at == name)
		return NULL;

	const char *digits = at + strlen(LLVM);
	const char *end = digits + strspn(digits, "0123456789abcdefABCDEF");

	if (*end == ']' && at - name > (ptrdiff_t)strlen(CLONE) &&
	    strncmp(at - strlen(CLONE), CLONE, strlen(CLONE)) == 0) {
		at -= strlen(CLONE);
		end++;
	}
	if (end == digits || !strchr(".@ ", *end)) /* finds the NUL, too */
		return NULL;
	return xasprintf("%.*s%s", (int)(at - name), name, end);
}

/* A stub's suffix, "@plt", is no part of the mangled name. */
char *demangle(const char *symbol)
{
	cleanup_free char *plain = name_without_number(symbol);
	const char *name = plain ? plain : symbol;
	const char *suffix = name[0] == '_' ? strrchr(name, '@') : NULL;

	if (!suffix || strcmp(suffix, "@plt") != 0) {
		char *written = demangle_whole(name);

		return written ? written : TAKE(plain);
	}

	cleanup_free char *mangled = xstrndup(name, (size_t)(suffix - name));
	cleanup_free char *text = demangle_whole(mangled);

	return text ? xasprintf("%s%s", text, suffix) : TAKE(plain);
}
