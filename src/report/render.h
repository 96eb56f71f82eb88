/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report/render.h - the bytes of a profile. Pure: no clock, no kernel.
 *
 * Frames become labels (label.h). Names come from foreign files, so they are escaped
 * (writer.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "report/forms.h"

struct changes; /* profile/changes.h */
struct writer;  /* report/writer.h */

struct render_style {
	bool offsets;       /* -s */
	bool addresses;     /* -v */
	bool delimited;     /* -d */
	bool per_process;   /* -P */
	bool of_profile;    /* the layout of bcc's profile */
	bool annotated;     /* of profile: "_[k]" behind the names of kernel frames */
	bool invert;        /* trees: callees first */
	bool ascii;         /* trees: draw lines with ASCII characters */
	bool colours;       /* trees: for a terminal */
	const char *time;   /* -T: "HH:MM:SS", else NULL */
	size_t most;        /* text: the most frequent stacks, with a line about the rest; 0: all */
	double min_percent; /* trees: leave out nodes below this share of all; 0: show all */
	const struct changes *changes; /* of a difference */
};

/* Is a name there? Files may have empty ones. */
static inline bool has_text(const char *text)
{
	return text && *text;
}

/* Takes bytes as they are made. A non-zero result ends rendering, which returns it. */
typedef int render_write(void *context, const char *bytes, size_t n);

typedef int render_function(const struct profile *p, const struct render_style *style,
			    render_write *write, void *context);

/* A form of output for profiles. */
struct renderer {
	const char *name;
	const char *ending; /* of names of files in this form: ".folded" */
	render_function *render;
	bool shows_addresses; /* render_style.addresses; else frames do not differ by them */
	bool is_bare;         /* shows no PIDs, so processes of one name are one, and no losses */
	bool begins_inverted; /* for render_style.invert */
	bool leaves_out;      /* for render_style.min_percent */
	bool wants_places;    /* frames differ by their addresses in files */
	/* Stacks have their process even without -P. With intervals, one file can have the run,
	   with slices of time. */
	bool is_whole;
	bool is_alone; /* other programs read it: its output has no other text before or after */
};

/* The rows end with one without a name. A new form is a file, and a row in forms.h. */
extern const struct renderer renderers[];

/* NULL: no form has that name. */
const struct renderer *renderer_find(const char *name);

/* The form whose ending @file has. NULL: none. */
const struct renderer *renderer_of_file(const char *file);

/* Each has its sample in its file: render_text() in render_text.c. */
#define DECLARE_RENDERER(name, ending, function, ...) render_function function;
FORMS(DECLARE_RENDERER)
#undef DECLARE_RENDERER

/* --- parts of several forms --- */

/*
 * Append a table of the @most functions that changed most, and a line that says what its marks
 * mean. Leaves out functions that did not change. render_text.c has a sample.
 */
void changes_put_text(struct strbuf *to, const struct changes *c, size_t most);

/*
 * Put a JSON object with the @most functions that changed most. It has no '<', so it can stand
 * in a script element of a page. The schema is "changes" in doc/stackcount.schema.json.
 */
void changes_put_json(struct writer *w, const struct changes *c, size_t most);

/*
 * Append one line with its newline, or nothing if nothing was lost. A sample:
 *
 *	Lost 12 hits (57.1%): 10 no room for a new stack, 2 nested too deep on one CPU
 *
 * The share of all hits, of which @hits are counted (0: not known), stands there from 2 % on.
 */
void render_losses(const struct profile_loss *losses, size_t n, uint64_t hits, struct strbuf *to);
