// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ten thousand functions, linked with load.c into load-paths and load-paths-nofp. Each can call
 * another one, or getppid(). A turn goes through the next eight of them, in a mixed order, and the
 * last one calls getppid(). After 1,250 turns each function has been a frame once, and all begins
 * anew. So an address comes again after 9,999 others.
 */
#include <sys/syscall.h>

#define FUNCTIONS 10000
#define FRAMES 8
#define STRIDE 3571 /* no factor in common with FUNCTIONS, so each comes once */

typedef void function(long place, int n_more);

static function *const functions[FUNCTIONS];

static inline __attribute__((always_inline)) void go_on(long place, int n_more)
{
	long ret;

	place = (place + STRIDE) % FUNCTIONS;
	if (n_more)
		functions[place](place, n_more - 1);
	else
		__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	__asm__ volatile("");
}

void follow_path(long turn);
void follow_path(long turn)
{
	const long place = turn * FRAMES * STRIDE % FUNCTIONS;

	functions[place](place, FRAMES - 1);
	__asm__ volatile("");
}

/* Give the functions different sizes. */
#define N_NOPS(n) ((n)*2654435761U >> 26 | 1)

/* clang-format off */
#define ONE(n)                                                                   \
	__attribute__((noinline)) static void step_##n(long place, int n_more) \
	{                                                                        \
		go_on(place, n_more);                                            \
		__asm__ volatile(".skip %c0, 0x90" : : "i"(N_NOPS(1##n)));       \
	}
#define ADDRESS(n) step_##n,
#define TEN(each, n)                                            \
	each(n##0) each(n##1) each(n##2) each(n##3) each(n##4)  \
	each(n##5) each(n##6) each(n##7) each(n##8) each(n##9)
#define HUNDRED(each, n)                                                                 \
	TEN(each, n##0) TEN(each, n##1) TEN(each, n##2) TEN(each, n##3) TEN(each, n##4)  \
	TEN(each, n##5) TEN(each, n##6) TEN(each, n##7) TEN(each, n##8) TEN(each, n##9)
#define THOUSAND(each, n)                                                          \
	HUNDRED(each, n##0) HUNDRED(each, n##1) HUNDRED(each, n##2) HUNDRED(each, n##3) \
	HUNDRED(each, n##4) HUNDRED(each, n##5) HUNDRED(each, n##6) HUNDRED(each, n##7) \
	HUNDRED(each, n##8) HUNDRED(each, n##9)
#define ALL(each)                                                                  \
	THOUSAND(each, 0) THOUSAND(each, 1) THOUSAND(each, 2) THOUSAND(each, 3)    \
	THOUSAND(each, 4) THOUSAND(each, 5) THOUSAND(each, 6) THOUSAND(each, 7)    \
	THOUSAND(each, 8) THOUSAND(each, 9)

ALL(ONE)
static function *const functions[FUNCTIONS] = { ALL(ADDRESS) };
