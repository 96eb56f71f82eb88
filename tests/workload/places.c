// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * places N - a USDT probe whose arguments are at all kinds of places. Hit number i, from 0 on, has
 *
 *	arg1    -i       4 bytes of a register
 *	arg2    -3       a number
 *	arg3    i - 5    2 bytes of memory
 *	arg4    i % 4    8 bytes of memory
 *	arg5    200      1 byte of memory
 *	arg6    -56      the same with a sign
 *	arg7    1.5      a floating-point number
 *	arg8    i        memory that has a symbol
 *
 * The probe is at a second place, too, N times, where it has no arg2, and arg1 is 7.
 */
#include "work.h"

static uint64_t n;
long known; /* named in the assembler's text */

#if defined(__x86_64__)
#define FIRST \
	"-4@%k[a] -8@$-3 -2@4(%[row]) 8@8(%[row]) 1@(%[row]) -1@(%[row]) 8f@%%xmm0 8@known(%%rip)"
#define SECOND "8@$7"
#else
#define FIRST "-4@%w[a] -8@-3 -2@[%[row], 4] 8@[%[row], 8] 1@[%[row]] -1@[%[row]] 8f@d0 8@known"
#define SECOND "8@7"
#endif

#define NOTE(arguments)                                                                         \
	"990:\tnop\n\t.pushsection .note.stapsdt,\"\",\"note\"\n\t.balign 4\n"                  \
	"\t.4byte 992f-991f, 994f-993f, 3\n991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n"         \
	"993:\t.8byte 990b, 0, 0\n\t.asciz \"places\"\n\t.asciz \"hit\"\n\t.asciz \"" arguments \
	"\"\n994:\t.balign 4\n\t.popsection"

struct row {
	unsigned char byte;
	char pad[3];
	short half;
	uint64_t whole;
};

FRAME static void first(int a, const volatile struct row *row)
{
	__asm__ volatile(NOTE(FIRST) : : [a] "r"(a), [row] "r"(row) : "memory");
	STAY();
}

FRAME static void second(void)
{
	__asm__ volatile(NOTE(SECOND) : : : "memory");
	STAY();
}

FRAME static void run(void)
{
	struct row row = { .byte = 200 };

	for (uint64_t i = 0; i < n; i++) {
		row.half = (short)(i - 5);
		row.whole = i % 4;
		known = (long)i;
		first((int)-i, &row);
		second();
	}
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("first", n);
	work_expect("second", n);
	return 0;
}
