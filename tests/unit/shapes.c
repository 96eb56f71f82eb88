// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions whose frames compilers make in ways that are rare in our own sources. test_derive.c
 * compiles them, with some of these. It compares the derived rows with the compiler's .debug_frame.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shape_other(int, ...);
void shape_use(void *);
void shape_fatal(const char *) __attribute__((noreturn));

/* The last thing in it does not return. */
int shape_dies(int a)
{
	if (a < 100)
		return shape_other(a);
	shape_use(NULL);
	shape_fatal("too large");
}

__attribute__((noreturn, noinline)) static void die(const char *why)
{
	shape_use((void *)why);
	for (;;)
		__builtin_trap();
}

void shape_dies_inside(int a)
{
	if (a)
		die("it is not 0");
	shape_use(&a);
}

int shape_alloca(size_t n)
{
	char *room = alloca(n);

	shape_use(room);
	return room[0] + shape_other(2);
}

int shape_array(int n)
{
	int numbers[n];

	shape_use(numbers);
	if (numbers[0])
		return 0;
	return numbers[n - 1];
}

int shape_aligned(int a)
{
	_Alignas(64) char room[200];

	shape_use(room);
	return room[a];
}

int shape_large(int a)
{
	char room[70000];

	shape_use(room);
	return room[a] + shape_other(3);
}

int shape_page(int a)
{
	char room[5000];

	shape_use(room);
	return room[a];
}

/* Most arguments lie on the stack, and are pushed. */
long shape_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	const long sum = shape_other(1, a, b, c, d, e, f, g, h) + h;

	return sum + shape_other(2, h, g, f, e, d, c, b, a, sum, g);
}

double shape_varies(const char *format, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, format);
	for (const char *at = format; *at; at++)
		sum += *at == 'd' ? va_arg(list, double) : va_arg(list, int);
	va_end(list);
	shape_use(&sum);
	return sum;
}

int shape_jumps(jmp_buf where)
{
	if (setjmp(where))
		return shape_other(1);
	shape_use(where);
	longjmp(where, 1);
}

struct shape {
	long of[20];
};

struct shape shape_returns(int a)
{
	struct shape s = { { a } };

	shape_use(&s);
	return s;
}

void shape_forever(int a)
{
	for (;;)
		a += shape_other(a);
}
