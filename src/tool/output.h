/* tool/output.h - bytes to standard output, for a reader that may be slow, stop reading, or go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/losses.h"
#include "tool/wait.h"

struct output {
	struct waiter *waiter; /* for the signals that come while nobody reads */
	bool is_file;          /* a file, whose reader cannot be slow */
	bool has_no_reader;    /* it was closed: nothing more is written */
	bool must_end;         /* a signal has asked for the end; the next one does not ask */
	bool is_last;          /* what is written from here on will not be waited for */
	bool is_full_told;     /* the user knows that the file system is full */
	/* Called again and again while nobody reads, and while much is written. May be NULL. */
	void (*serve)(void *context);
	/* Called about once a second while nobody reads; NULL: nothing to do then. */
	void (*while_waiting)(void *context);
	/* Called when, while nobody reads, a signal comes or --duration is over. May be NULL. */
	void (*halt)(void *context);
	void *context; /* of all three */
};

/* Has a signal asked for the end by now? For renderers that print for long. */
bool output_must_end(struct output *o);

/*
 * Wait for the end of pipe @fd, for @ms at most (-1: for ever). Returns whether it came. A signal
 * after the one that asked for the end ends the program.
 */
bool output_wait_for_end(struct output *o, int fd, int ms);

/* @waiter is lent. */
void output_init(struct output *o, struct waiter *waiter);

/*
 * Write all. A closed pipe is no error. A file on a full file system waits for room, until a signal
 * comes or @is_last is set. A render_write of report/render.h, @output being the
 * context. Returns 0, or a negative errno; -EINTR: a second signal came while nobody read.
 */
int output_write(void *output, const char *bytes, size_t n);

/* The same, with words for what went wrong. */
must_check int output_put(struct output *o, const char *bytes, size_t n, struct error *e);

/* Words for what output_write() returned; 0 stays 0. */
must_check int output_explain(int err, struct error *e);

/* The line that says what was lost, if anything was: standard output's last, or a message. */
must_check int output_losses(struct output *o, const uint64_t losses[LOSS_N], bool is_message,
			     struct error *e);
