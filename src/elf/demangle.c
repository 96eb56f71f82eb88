/*
 * Names come from foreign files, and a few hundred bytes of one can stand for
 * gigabytes: every scheme has references back ("the same type again"), and n of
 * them double the text n times. libiberty bounds the depth, not the output, and
 * its callbacks have no way to say "enough", so it is left by longjmp() once the
 * output is too long. That loses nothing: with a callback C++ is demangled on the
 * stack alone, and Rust but for an identifier in punycode, which is on the heap
 * while it is put out. No identifier begins with punctuation, so for Rust the
 * jump waits for some. D has no callback; there the references are counted
 * beforehand.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

#define MAX_MANGLED 4096
#define MAX_DEMANGLED 65536
/*
 * With k references the text grows to at most 3^(k/3) times its length (three
 * on each level is the worst): 6,561 times for 24.
 */
#define MAX_REFERENCES 24

/* libiberty's D part asks for it. Its own comes in one object with a second xmalloc(). */
void *xrealloc(void *p, size_t size)
{
	return xreallocarray(p, size, 1);
}

struct output {
	struct strbuf *text;
	bool is_too_long;
	/* libiberty may be left where the text begins with one of these; "": anywhere. */
	const char *leave_at;
	jmp_buf enough;
};

static void take_output(const char *text, size_t n, void *context)
{
	struct output *out = context;

	if (n == 0) /* then @text may be NULL */
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

/* Not inlined: nothing that longjmp() could spoil is then alive around it. */
static __attribute__((noinline)) bool run(demangle_function *function, const char *name,
					  struct output *out)
{
	if (setjmp(out->enough) != 0)
		return false;
	return function(name, DMGL_PARAMS | DMGL_ANSI, take_output, out) && !out->is_too_long &&
	       out->text->n > 0;
}

static char *call(demangle_function *function, const char *name, const char *leave_at)
{
	cleanup(strbuf_fini) struct strbuf text = {};
	struct output out = { .text = &text, .leave_at = leave_at };

	if (!run(function, name, &out))
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

/* Legacy Rust names look like C++ ones but for a hash at the end, so Rust is asked first. */
static char *demangle_whole(const char *name)
{
	bool is_long = strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED;
	char *text = NULL;

	if (is_long || name[0] != '_')
		return NULL;
	if (name[1] == 'R' || name[1] == 'Z')
		text = call(rust_demangle_callback, name, "<>()[]&,: ");
	if (!text && (name[1] == 'Z' || name[1] == 'G'))
		text = call(cplus_demangle_v3_callback, name, "");
	if (!text && name[1] == 'D')
		text = demangle_d(name);
	return text;
}

/* The suffix of a stub, "@plt", is no part of what was mangled. */
char *demangle(const char *name)
{
	const char *suffix = name[0] == '_' ? strrchr(name, '@') : NULL;

	if (!suffix || strcmp(suffix, "@plt") != 0)
		return demangle_whole(name);

	cleanup_free char *mangled = xstrndup(name, (size_t)(suffix - name));
	cleanup_free char *text = demangle_whole(mangled);

	return text ? xasprintf("%s%s", text, suffix) : NULL;
}
