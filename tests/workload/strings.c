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

/* clang-format off */
#define EACH(one)                                                                                   \
	one(strchrnul, CALL(strchrnul, text, ',') == text + 11)                                     \
	one(strchr, CALL(strchr, text, '!') == NULL)                                                \
	one(rawmemchr, CALL(rawmemchr, text, 'w') == text + 4)                                      \
	one(memchr, CALL(memchr, text, 'f', sizeof(text)) == text + 2)                              \
	one(strlen, CALL(strlen, text) == sizeof(text) - 1)                                         \
	one(strcmp, CALL(strcmp, text, "a few") > 0)                                                \
	one(wcschr, CALL(wcschr, wide, L',') == wide + 11)                                          \
	one(memset, CALL(memset, to, 'x', 100) == to && to[0] == 'x' && to[99] == 'x' && !to[100])  \
	one(wmemset, CALL(wmemset, wide_to, L'x', 100) == wide_to && wide_to[99] == L'x' && !wide_to[100]) \
	one(memcpy, CALL(memcpy, to, text, sizeof(text)) == to && to[sizeof(text) - 2] == 'e')
/* clang-format on */

#define DEFINE(name, is_right)              \
	FRAME static void call_##name(void) \
	{                                   \
		char to[200] = "";          \
		wchar_t wide_to[200] = L""; \
                                            \
		must(is_right, #name);      \
		(void)to, (void)wide_to;    \
		STAY();                     \
	}
EACH(DEFINE)

#define RUN(name, is_right) call_##name();

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		EACH(RUN)
	}
	STAY();
}

#define EXPECT(name, is_right) work_expect("call_" #name ";libc", n);

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	EACH(EXPECT)
	return 0;
}
