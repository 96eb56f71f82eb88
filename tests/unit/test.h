/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/test.h - what every unit test includes first: cmocka, usual headers, and tests that
 * put themselves on their file's list, so that none is forgotten:
 *
 *	TEST(a_sentence_that_holds)
 *	{
 *		assert_int_equal(1 + 1, 2);
 *	}
 *
 *	TEST_MAIN(NULL, NULL)
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

/* Tests and stand-ins take what cmocka or the real function takes. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct CMUnitTest unit_tests[128];
static size_t n_unit_tests;

static inline void add_test(struct CMUnitTest test)
{
	if (n_unit_tests == ARRAY_SIZE(unit_tests))
		abort();
	unit_tests[n_unit_tests++] = test;
}

/* A test with what runs before and behind it. @setup may leave something in *state. */
#define TEST_WITH(name, setup, teardown)                                             \
	static void name(void **state);                                              \
	static __attribute__((constructor)) void add_##name(void)                    \
	{                                                                            \
		add_test((struct CMUnitTest){ #name, name, setup, teardown, NULL }); \
	}                                                                            \
	static void name(void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* The same, and what @setup left is @argument, a pointer's declaration. */
#define TEST_OF(name, argument, setup, teardown) \
	static void with_##name(argument);       \
	TEST_WITH(name, setup, teardown)         \
	{                                        \
		with_##name(*state);             \
	}                                        \
	static void with_##name(argument)

/* A test for each of @rows, which have a .name. Its state is the row. */
#define TEST_ROWS(rows, function)                                                         \
	static __attribute__((constructor)) void add_##rows(void)                         \
	{                                                                                 \
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)                             \
			add_test((struct CMUnitTest){ rows[i].name, function, NULL, NULL, \
						      (void *)&rows[i] });                \
	}

/* Run the file's tests in the order in which they stand there, between @setup and @teardown. */
static inline int run_all_tests(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests("tests", unit_tests, n_unit_tests, setup, teardown);
}

#define TEST_MAIN(setup, teardown)                     \
	int main(void)                                 \
	{                                              \
		return run_all_tests(setup, teardown); \
	}

/* @call must succeed; its error's text is shown if it does not. @e is its error. */
#define assert_ok(call, e)                                   \
	do {                                                 \
		if ((call) != 0)                             \
			fail_msg("%s: %s", #call, (e).text); \
	} while (0)

/* The same, for a call whose last argument is &e: the error is declared here. */
#define assert_works(call)                                 \
	do {                                               \
		struct error e = {};                       \
		if ((call) != 0)                           \
			fail_msg("%s: %s", #call, e.text); \
	} while (0)
