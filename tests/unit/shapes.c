// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions whose frames compilers make in different ways. test_derive.c compiles them, with some
 * of our own sources. It compares the derived rows with the compiler's .debug_frame.
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

int shape_leaf(int a, int b)
{
	return a * b + 1;
}

/* Below rsp, in the red zone. */
int shape_red_zone(int a)
{
	volatile char room[100];

	room[a % 100] = 1;
	return room[(a + 1) % 100];
}

int shape_early_return(int a, int b)
{
	if (a == b)
		return 0;
	for (int i = 0; i < b; i++) {
		if (shape_other(i, a) == 7)
			return i;
		a += shape_other(a, b);
	}
	return shape_other(a, b) + shape_other(b, a);
}

int shape_tail(int a)
{
	if (a > 3)
		shape_use(&a);
	return shape_early_return(a, 3);
}

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

static int by_pointer(const void *a, const void *b)
{
	return shape_other(*(const int *)a, *(const int *)b);
}

void shape_sorts(int *numbers, size_t n)
{
	qsort(numbers, n, sizeof(*numbers), by_pointer);
	shape_use(numbers);
}

int shape_switch(int a, int b)
{
	switch (a) {
	case 0:
		return shape_other(b);
	case 1:
		shape_use(&b);
		break;
	case 2:
		b += shape_other(1);
		break;
	case 3:
		b *= 3;
		shape_use(&b);
		shape_use(&a);
		break;
	case 4:
		return b;
	case 5:
		b -= shape_other(b, 2) + shape_other(4);
		break;
	case 6:
		shape_fatal("six");
	default:
		return -1;
	}
	return shape_other(a, b) + b;
}

int shape_leaf_switch(unsigned a, int b)
{
	switch (a) {
	case 10:
		return b * 3;
	case 11:
		return b ^ 77;
	case 12:
		return b << 3;
	case 13:
		return b / 9;
	case 14:
		return -b;
	case 15:
		return b % 5;
	default:
		return b;
	}
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

int shape_recursive(int n, int *at)
{
	if (n < 2)
		return n;
	*at += shape_recursive(n - 1, at);
	return *at + shape_recursive(n - 2, at);
}

long shape_pressure(const long *x, long n)
{
	long a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6];

	for (long i = 7; i < n; i++) {
		a += b * x[i];
		b ^= c + shape_other((int)d);
		c -= e * a;
		d += f ^ g;
		e *= x[i] + a;
		f += b;
		g ^= c * d;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g;
}

void shape_forever(int a)
{
	for (;;)
		a += shape_other(a);
}
