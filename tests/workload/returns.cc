// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// returns N - functions that return in different ways, each called N times by each thread:
// through several exits, by tail calls, from a switch, from a recursion, and not at all, because of
// an exception or longjmp().
#include <csetjmp>

#include "work.h"

extern "C" {

typedef long function(long i);

static thread_local long sum;
static function *volatile pointer;

FRAME long exits(long i)
{
	if (i % 3 == 0)
		return 1;
	sum += i;
	STAY();
	if (i % 3 == 1)
		return sum;
	sum -= strtol("7", nullptr, 10);
	return sum * 3;
}

FRAME long target(long i)
{
	STAY();
	return i + 1;
}

FRAME long tail(long i)
{
	STAY();
	return target(i + sum);
}

FRAME long by_pointer(long i)
{
	return pointer(i);
}

/* A table of cases, some of which end in tail calls. */
FRAME long chosen(long i)
{
	switch (i % 8) {
	case 0:
		return sum;
	case 1:
		return target(sum);
	case 2:
		return target(3) + i;
	case 3:
		sum++;
		STAY();
		return 9;
	case 4:
		return pointer(sum);
	case 5:
		return i * 7;
	case 6:
		return strtol("6", nullptr, 10);
	default:
		STAY();
		return -i;
	}
}

FRAME long nested(long depth)
{
	long below = depth ? nested(depth - 1) : -1;

	STAY();
	return below + 1;
}

/* The part that throws is cold, and lies elsewhere. */
FRAME long thrower(long i)
{
	if (i % 4 == 3)
		throw i;
	return target(i) + 1;
}

FRAME long passed(long i)
{
	return thrower(i) + sum;
}

FRAME long catcher(long i)
{
	try {
		return passed(i) + 1;
	} catch (long) {
		return -1;
	}
}

static thread_local jmp_buf back;

FRAME long jumper(long i)
{
	if (i % 5 == 4)
		longjmp(back, 1);
	return i + sum;
}

FRAME long jumped(long i)
{
	if (setjmp(back))
		return 0;
	return jumper(i) + 1;
}

static uint64_t n;

static long sink;

FRAME void run(void)
{
	long all = 0;

	for (long i = 0; i < (long)n; i++)
		all += exits(i) + tail(i) + by_pointer(i) + chosen(i) + catcher(i) + jumped(i) +
		       nested(i % 4);
	all += nested(200);
	__atomic_add_fetch(&sink, all, __ATOMIC_RELAXED);
}

} // extern "C"

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N, a multiple of 120");
	n = work_number(argv[0]);
	pointer = target;
	work_run(run);
	work_expect("exits", n);
	work_expect("tail", n);
	work_expect("by_pointer", n);
	work_expect("chosen", n);
	work_expect("target", 2 * n + n / 8 * 2);
	work_expect("chosen;target", n / 8);
	work_expect("catcher", n);
	work_expect("catcher;passed", n / 4 * 3);
	work_expect("catcher;passed;thrower", n / 4 * 3);
	work_expect("catcher;passed;thrower;target", n / 4 * 3);
	work_expect("jumped", n);
	work_expect("jumped;jumper", n / 5 * 4);
	return 0;
}
