/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/output.h - where the reports of a run go, and how they are written. All choices of renderers
 * are here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "report/render.h"
#include "symbolize/symbolize.h"
#include "tool/options.h"
#include "tool/wait.h"

/* --- standard output, or a file: its reader may be slow, stop reading, or go --- */

struct output {
	int fd;
	const char *name;      /* of @fd, in messages. Lent */
	struct waiter *waiter; /* has the signals that come while nobody reads */
	bool has_no_reader;    /* the other end of @fd was closed: write nothing more */
	/* Called every TICK_MS while nobody reads, and after each write. May be NULL. */
	void (*serve)(void *context);
	void *context;
};

/* Standard output. @waiter is lent; NULL: no signal waits for anybody. */
void output_init(struct output *o, struct waiter *waiter);

/*
 * Write all @n bytes. A closed pipe is no error. This is a render_write of report/render.h, with
 * @output as its context. Returns 0 or a negative errno; -EINTR: a second signal came while nobody
 * read.
 */
int output_write(void *output, const char *bytes, size_t n);

/* Call output_write(), and explain its error. */
must_check int output_put(struct output *o, const char *bytes, size_t n, struct error *e);

/* Explain an error of output_write(). Returns @err; 0 is no error. */
must_check int output_explain(const struct output *o, int err, struct error *e);

/* Warn of @n losses, if any is above 0. */
void output_warn_losses(const struct profile_loss *losses, size_t n, uint64_t hits);

/* --- --live: a text on the whole terminal of standard output, drawn anew --- */

/*
 * Can standard output show pictures? Errors: -ENOTTY  it is no terminal
 *                                            -EINVAL  $TERM says that it cannot move the cursor
 */
must_check int live_check(struct error *e);

/*
 * Append a picture that replaces a screen of @columns and @lines. Each line of @text ends in '\n',
 * and is escaped already. It may have colours ("\x1b[..m"), which take no room. Lines are cut at
 * the width. If there are too many, the last line of the picture tells how many are not shown.
 */
void live_put(struct strbuf *to, const char *text, size_t columns, size_t lines);

/* 80 columns and 24 lines if it is not known. */
struct winsize live_size(void);

/*
 * Draw @text with the size that the terminal has now. "" erases the last picture. Errors: those of
 * output_put().
 */
must_check int live_draw(struct output *o, const char *text, struct error *e);

/* --- the reports of a run: standard output and the files of -o, each in a form of its own --- */

struct report_output;

struct reports {
	const struct options *opt;
	struct report_output *outputs; /* standard output, if @text, then files */
	size_t n;
	const struct renderer *text; /* the form of standard output; NULL: no report goes there */
	/* Of all outputs: */
	unsigned keeps;
	enum frame_identity identity;   /* of the one that tells most addresses apart */
	bool wants_run, wants_interval; /* any output shows it */
	bool shows_so_far;
	bool has_files;          /* regular ones */
	struct changes *changes; /* of a difference; NULL: none */
};

/* Is there a form for each file of -o, and one for each option that only some forms look at? */
must_check int reports_check(const struct options *opt, struct error *e);

/*
 * Choose the forms, and open the files, so that a bad path fails at once. @opt is lent. Errors: no
 * form has a file's ending; a file cannot be written.
 */
must_check int reports_open(struct reports *r, const struct options *opt, struct error *e);
void reports_close(struct reports *r);

/* Append @p as a tree for the terminal, without nodes that have less than 1 %. */
void reports_put_tree(const struct reports *r, const struct profile *p, struct strbuf *to);

/* The profiles of a report: of the present interval, and of the run. NULL: none. */
struct report_profiles {
	struct profile *interval, *run;
	bool is_early; /* @run is the run so far, for outputs that show it */
};

/*
 * Write to each output the profile that it shows, if it is there. Profiles may be sorted, without
 * the stacks that --top and --min hide. @clock: for -T; NULL: none. An error does not keep the
 * others from being written. Errors: of writing, the first one; further ones are messages. A file
 * has then the reports before this one, or does not appear.
 */
must_check int reports_write(struct reports *r, const struct report_profiles *profiles,
			     const char *clock, struct output *o, struct error *e);
