/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/output.h - write to standard output, or a file of -o. Its reader may be slow, stop reading,
 * or go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "tool/wait.h"

struct output {
	int fd;
	const char *name;      /* of @fd, in messages. Lent */
	struct waiter *waiter; /* has the signals that come while nobody reads */
	bool is_file;          /* a regular file, which has no slow reader */
	bool has_no_reader;    /* the other end of @fd was closed: write nothing more */
	bool must_end;         /* a signal has asked for the end; the next one stops the output */
	bool is_last;          /* do not wait for room in a full file system any more */
	bool is_full_told;     /* we have warned that the file system is full */
	/* Called every 20 ms while nobody reads, and after each write. May be NULL. */
	void (*serve)(void *context);
	/* Called about once a second while nobody reads. May be NULL. Needs @serve. */
	void (*while_waiting)(void *context);
	/*
	 * Called when a signal comes, or --duration is over, while a report is made or waits for
	 * its reader. May be NULL.
	 */
	void (*halt)(void *context);
	void *context; /* of these three */
};

/* Has a signal asked for the end? Renderers that print for long ask this. */
bool output_must_end(struct output *o);

/* Standard output. @waiter is lent; NULL: no signal waits for anybody. */
void output_init(struct output *o, struct waiter *waiter);

/* As @o, but for @fd. @name is lent. */
struct output output_to(const struct output *o, int fd, const char *name);

/*
 * Write all @n bytes. A closed pipe is no error. If the file system is full, wait for room until a
 * signal comes or @is_last is set. This is a render_write of report/render.h, with @output as its
 * context. Returns 0 or a negative errno; -EINTR: a second signal came while nobody read.
 */
int output_write(void *output, const char *bytes, size_t n);

/* Call output_write(), and explain its error. */
must_check int output_put(struct output *o, const char *bytes, size_t n, struct error *e);

/* Explain an error of output_write(). Returns @err; 0 is no error. */
must_check int output_explain(const struct output *o, int err, struct error *e);

/* Print the line about @n losses, if any is above 0: to standard output, or as a message. */
must_check int output_losses(struct output *o, const struct profile_loss *losses, size_t n,
			     uint64_t hits, struct error *e);
void output_warn_losses(const struct profile_loss *losses, size_t n, uint64_t hits);
