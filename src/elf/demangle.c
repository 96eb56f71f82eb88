// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Names come from foreign files, and a few hundred bytes of a name can stand for gigabytes: every
 * scheme has references back ("the same type again"). libiberty bounds the depth of a name, but
 * neither its text nor its time. A child demangles the names of a file, and its limits end that.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

#include "base/memory.h"

#define LLVM ".llvm."
#define CLONE " [clone "
#define MAX_MANGLED 4096
#define MAX_DEMANGLED 65536
#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

/* libiberty's D part calls it. libiberty's own xrealloc() would link a second xmalloc(). */
void *xrealloc(void *p, size_t size)
{
	return xreallocarray(p, size, 1);
}

/* Legacy Rust names look like C++ names with a hash at the end, so try Rust first. */
static char *demangle_whole(const char *name)
{
	char *text = NULL;

	if (name[0] != '_' || strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return NULL;
	if (name[1] == 'R' || name[1] == 'Z')
		text = rust_demangle(name, OPTIONS);
	if (!text && (name[1] == 'Z' || name[1] == 'G'))
		text = cplus_demangle_v3(name, OPTIONS);
	if (!text && name[1] == 'D')
		text = dlang_demangle(name, OPTIONS);
	if (text && (!text[0] || strlen(text) > MAX_DEMANGLED))
		cleanup_free_p(&text);
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
