// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * strings N - N calls each of libc's functions that have an implementation for each kind of CPU
 * (most of which begin with a vector instruction), with the results checked. What the
 * implementation is called is libc's matter, so the chains said end with "libc".
 */
#include "work.h"

#include <wchar.h>

static const char text[] = "a few words, and what follows, for vectors to look at at once";
static const wchar_t wide[] = L"a few words, and what follows";
static uint64_t n;

static void must(int is_right, const char *name)
{
	if (is_right)
		return;
	fprintf(stderr, "%s: a wrong result\n", name);
	_exit(1);
}

/* By a pointer that the compiler knows nothing of, so that it calls. */
#define CALL(f, ...) (*(__typeof__(&(f)) volatile[]){ (f) }[0])(__VA_ARGS__)

FRAME static void call_strchrnul(void)
{
	must(CALL(strchrnul, text, ',') == text + 11, "strchrnul");
	STAY();
}

FRAME static void call_strchr(void)
{
	must(CALL(strchr, text, '!') == NULL, "strchr");
	STAY();
}

FRAME static void call_rawmemchr(void)
{
	must(CALL(rawmemchr, text, 'w') == text + 4, "rawmemchr");
	STAY();
}

FRAME static void call_memchr(void)
{
	must(CALL(memchr, text, 'f', sizeof(text)) == text + 2, "memchr");
	STAY();
}

FRAME static void call_strlen(void)
{
	must(CALL(strlen, text) == sizeof(text) - 1, "strlen");
	STAY();
}

FRAME static void call_strcmp(void)
{
	must(CALL(strcmp, text, "a few") > 0, "strcmp");
	STAY();
}

FRAME static void call_wcschr(void)
{
	must(CALL(wcschr, wide, L',') == wide + 11, "wcschr");
	STAY();
}

FRAME static void call_memset(void)
{
	char to[200] = "";

	must(CALL(memset, to, 'x', 100) == to && to[0] == 'x' && to[99] == 'x' && !to[100],
	     "memset");
	STAY();
}

FRAME static void call_wmemset(void)
{
	wchar_t to[200] = L"";

	must(CALL(wmemset, to, L'x', 100) == to && to[0] == L'x' && to[99] == L'x' && !to[100],
	     "wmemset");
	STAY();
}

FRAME static void call_memcpy(void)
{
	char to[sizeof(text) + 1] = "";

	must(CALL(memcpy, to, text, sizeof(text)) == to && to[sizeof(text) - 2] == 'e', "memcpy");
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		call_strchrnul();
		call_strchr();
		call_rawmemchr();
		call_memchr();
		call_strlen();
		call_strcmp();
		call_wcschr();
		call_memset();
		call_wmemset();
		call_memcpy();
	}
	STAY();
}

int main(int argc, char **argv)
{
	static const char *const chains[] = {
		"call_strchrnul;libc", "call_strchr;libc", "call_rawmemchr;libc",
		"call_memchr;libc",    "call_strlen;libc", "call_strcmp;libc",
		"call_wcschr;libc",    "call_memset;libc", "call_wmemset;libc",
		"call_memcpy;libc",
	};

	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
		work_expect(chains[i], n);
	return 0;
}
