/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/reports.h - where the reports of a run go: standard output and the files of -o, each in a
 * form of its own. All choices of renderers are here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "report/render.h"
#include "symbolize/symbolize.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/result_file.h"

/*
 * The time that a report covers. With an interval (-i), some outputs show each interval, others the
 * whole run.
 */
enum span {
	SPAN_INTERVAL,
	SPAN_RUN,
};

/* One output. */
struct report_output {
	const char *pattern; /* of -o, lent; NULL: standard output */
	const struct renderer *renderer;
	enum span span;
	unsigned keeps;    /* the flags of profile/merge.h that it shows */
	bool shows_so_far; /* when the user wants it, too: the run up to then */
	struct result_file file;
	bool has_time; /* @pattern has '%': a file for each report */
	char *last;    /* the name of the last one */
	unsigned n_alike;
};

struct reports {
	const struct options *opt;
	struct report_output outputs[MOST_OUTPUTS + 1];
	size_t n;
	unsigned keeps;                /* of all outputs */
	bool shows_so_far;             /* any output does */
	const struct changes *changes; /* of a difference, lent; NULL: none */
};

/* Is there a form for each file of -o, and one for each option that only some forms look at? */
must_check int reports_check(const struct options *opt, struct error *e);

/*
 * Choose the forms, and open the files, so that a bad path fails at once. @opt is lent. Errors: no
 * form has a file's ending; those of result_file_open().
 */
must_check int reports_open(struct reports *r, const struct options *opt, struct error *e);
void reports_close(struct reports *r);

/* The form of standard output; NULL: no report goes there. */
const struct renderer *reports_text(const struct reports *r);

/* Is standard output for data alone, so that the header goes to standard error? */
bool reports_are_alone(const struct reports *r);

/* Does any output need addresses in programs, and not only functions? */
bool reports_want_places(const struct reports *r);

/* When are two addresses one frame, for the output that tells most apart? */
enum frame_identity reports_identity(const struct reports *r);

/* Does any output show this span? */
bool reports_want(const struct reports *r, enum span span);

/* Append @p as a tree for the terminal, without nodes that have less than 1 %. */
void reports_put_tree(const struct reports *r, const struct profile *p, struct strbuf *to);

/* Is any output a regular file? */
bool reports_have_files(const struct reports *r);

/* The profiles of a report: of the present interval, and of the run. NULL: none. */
struct report_profiles {
	struct profile *interval, *run;
	bool is_early; /* @run is the run so far, for outputs that show it */
};

void report_profiles_fini(struct report_profiles *p);

/*
 * Write to each output the profile that it shows, if it is there. Profiles are sorted, and the
 * stacks that --top and --min hide are removed. @clock: for -T; NULL: none. An error does not keep
 * the others from being written. Errors: of writing, the first one; further ones are messages. A
 * file has then the reports before this one, or does not appear.
 */
must_check int reports_write(struct reports *r, const struct report_profiles *profiles,
			     const char *clock, struct output *o, struct error *e);
