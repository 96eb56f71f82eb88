/* rooms: tool all */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Signals that come while nobody reads the output. */
#include "test.h"

#include "tool/output.h"

/* A pipe that is full, and what the run does meanwhile. */
struct reader {
	int fds[2];
	struct waiter waiter;
	struct output output;
	size_t n_served;
	bool takes_signal; /* as a run does that waits for a helper (tool/run.c) */
};

static void drain(struct reader *r)
{
	char bytes[4096];

	while (read(r->fds[0], bytes, sizeof(bytes)) > 0)
		;
}

static void serve(void *context)
{
	struct reader *r = context;

	r->n_served++;
	if (r->takes_signal)
		(void)waiter_take_signals(&r->waiter);
	if (r->n_served == 3)
		drain(r);
}

static int begin(void **state)
{
	static struct reader r;
	char bytes[4096] = {};

	r = (struct reader){};
	assert_int_equal(pipe2(r.fds, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(r.fds[1], bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(waiter_open(&r.waiter, NULL), 0);
	waiter_begin(&r.waiter, 0, 0);
	r.output = (struct output){
		.fd = r.fds[1], .name = "a pipe", .waiter = &r.waiter, .serve = serve, .context = &r
	};
	*state = &r;
	return 0;
}

static int end(void **state)
{
	struct reader *r = *state;

	(void)waiter_take_signals(&r->waiter);
	waiter_close(&r->waiter);
	(void)close(r->fds[0]);
	(void)close(r->fds[1]);
	return 0;
}

#define TEST_WITH_READER(name) TEST_OF(name, struct reader *r, begin, end)

TEST_WITH_READER(the_first_signal_lets_the_reader_have_the_report)
{
	assert_int_equal(raise(SIGINT), 0);
	assert_int_equal(output_write(&r->output, "report", 6), 0);
	assert_true(r->waiter.is_asked);
}

TEST_WITH_READER(a_signal_that_is_taken_while_nobody_reads_is_no_second_one)
{
	r->takes_signal = true;
	assert_int_equal(raise(SIGINT), 0);
	assert_int_equal(output_write(&r->output, "report", 6), 0);
	assert_true(r->waiter.is_asked);
}

TEST_WITH_READER(the_second_signal_ends_the_report)
{
	struct error e = {};

	r->waiter.is_asked = true;
	assert_int_equal(raise(SIGINT), 0);
	assert_int_equal(output_put(&r->output, "report", 6, &e), -EINTR);
	assert_string_equal(e.text, "a second signal ended the report, because nobody read it");
}

TEST_MAIN(NULL, NULL)
