// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * noreturn N - getppid() N times below a function whose last instruction is a call:
 * its return address is the first one of whatever function comes next.
 */
#include <setjmp.h>

#include "work.h"

static jmp_buf back;
static uint64_t n;

FRAME static void hit(void)
{
	GETPPID();
	STAY();
}

__attribute__((noreturn)) FRAME static void never_returns(void)
{
	hit();
	__builtin_longjmp(back, 1);
}

__attribute__((noreturn)) FRAME static void ends_in_call(void)
{
	never_returns();
}

/* Whose name stands there when a return address is looked up as it is. */
FRAME void next_function(void)
{
	STAY();
}

FRAME static void once(void)
{
	if (__builtin_setjmp(back) == 0)
		ends_in_call();
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++)
		once();
	next_function();
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("once;ends_in_call;never_returns;hit", n);
	return 0;
}
