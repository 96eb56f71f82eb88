// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * norow N - getppid() N times below a function without unwind information, which calls one that
 * does not return, and behind which the next function begins.
 */
#include "work.h"

static uint64_t n;

/* In this order. */
__asm__("	.pushsection .text\n"
	"	.type said_nothing_of, @function\n"
	"said_nothing_of:\n"
	"	sub $8, %rsp\n"
	"	call stop\n"
	"	.size said_nothing_of, . - said_nothing_of\n"
	"	.type something, @function\n"
	"something:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size something, . - something\n"
	"	.popsection\n");

void said_nothing_of(void);
void stop(void);

FRAME static void hit(void)
{
	GETPPID();
	STAY();
}

__attribute__((noreturn)) FRAME void stop(void)
{
	for (uint64_t i = 0; i < n; i++)
		hit();
	work_expect("said_nothing_of;stop;hit", n);
	exit(0);
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	said_nothing_of();
}
