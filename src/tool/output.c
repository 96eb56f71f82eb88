// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "profile/changes.h"
#include "profile/merge.h"
#include "tool/run.h"

/* --- writing --- */

void output_init(struct output *o, struct waiter *waiter)
{
	*o = (struct output){ STDOUT_FILENO, "standard output", .waiter = waiter };
}

/*
 * Wait until @o can take *@n bytes at once. Lowers *@n to the bytes that poll(2) promises. A reader
 * may be slow (a pager), and still gets the whole report that the first signal asked for. Or it may
 * have stopped reading. Then the second signal ends the run.
 */
static int wait_for_reader(struct output *o, size_t *n)
{
	struct pollfd fds[] = { { .fd = o->fd, .events = POLLOUT },
				{ .fd = o->waiter ? o->waiter->signals : -1, .events = POLLIN } };

	if (*n > PIPE_BUF)
		*n = PIPE_BUF;
	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), o->serve ? TICK_MS : -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents)
			return 0;

		const bool was_asked = o->waiter && o->waiter->is_asked; /* by @serve, perhaps */

		if (fds[1].revents && waiter_take_signals(o->waiter) && was_asked)
			return -EINTR;
		if (o->serve) /* it ends the counting, too */
			o->serve(o->context);
	}
}

int output_write(void *output, const char *bytes, size_t n)
{
	struct output *o = output;

	while (n > 0 && !o->has_no_reader) {
		size_t part = n;
		int err = wait_for_reader(o, &part);

		if (err)
			return err;

		ssize_t done = write(o->fd, bytes, part);

		if (done < 0 && errno == EPIPE)
			o->has_no_reader = true;
		else if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
		if (o->serve)
			o->serve(o->context);
	}
	return 0;
}

int output_explain(const struct output *o, int err, struct error *e)
{
	if (err == -EINTR)
		return error_set(e, err,
				 "a second signal ended the report, because nobody read it");
	return err ? error_set(e, err, "write to %s: %s", o->name, strerror(-err)) : 0;
}

int output_put(struct output *o, const char *bytes, size_t n, struct error *e)
{
	return output_explain(o, output_write(o, bytes, n), e);
}

void output_warn_losses(const struct profile_loss *losses, size_t n, uint64_t hits)
{
	cleanup_strbuf struct strbuf line = {};

	render_losses(losses, n, hits, &line);
	for (const char *at = line.text, *end; line.n && *at; at = end + 1) {
		end = strchr(at, '\n');
		log_warn("%.*s", (int)(end - at), at);
	}
}

/* --- --live --- */

/* ECMA-48: to the first column of the first line; erase to the end of the line, of the screen. */
#define HOME "\x1b[H"
#define ERASE_LINE "\x1b[K"
#define ERASE_REST "\x1b[J"
#define PLAIN "\x1b[m"

int live_check(struct error *e)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return error_set(e, -ENOTTY, "--live: standard output must be a terminal");
	if (!kind || strcmp(kind, "dumb") == 0)
		return error_set(e, -EINVAL, "--live: the terminal '%s' cannot move its cursor",
				 kind ? kind : "");
	return 0;
}

/*
 * Columns of a character, or more: a line may be too short, but never wraps. Scripts up to U+10FF,
 * punctuation and line drawing are narrow. The rest may be wide (CJK, emoji).
 */
static size_t width_of_character(uint32_t c)
{
	return c == '\t' ? 8 : c < 0x1100 || (c >= 0x2000 && c < 0x2e80) ? 1 : 2;
}

/* Append the line at @text, @columns wide at most. Returns the next line. */
static const char *put_live_line(struct strbuf *to, const char *text, size_t columns)
{
	const char *end = strchrnul(text, '\n');
	size_t used = 0, n;

	strbuf_puts(to, ERASE_LINE);
	for (; text < end; text += n) {
		uint32_t c = 0;

		if (*text == '\x1b') {
			n = strcspn(text, "m") + 1;
		} else {
			n = utf8_at((const unsigned char *)text, &c);
			n = n ? n : 1;
			used += width_of_character(c);
		}
		if (used > columns)
			break;
		strbuf_put(to, text, n);
	}
	strbuf_puts(to, PLAIN);
	return *end ? end + 1 : end;
}

void live_put(struct strbuf *to, const char *text, size_t columns, size_t lines)
{
	size_t n = 0;
	char rest[64];

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		n++;
	strbuf_puts(to, HOME);
	for (size_t i = 0; i < n && i < lines; i++) {
		if (i + 1 == lines && n > lines) {
			(void)snprintf(rest, sizeof(rest), "[%zu lines are not shown]", n - i);
			text = rest;
		}
		text = put_live_line(to, text, columns);
		if (i + 1 < lines)
			strbuf_puts(to, "\n");
	}
	if (n < lines) /* in the last column, this would erase a character */
		strbuf_puts(to, ERASE_REST);
}

struct winsize live_size(void)
{
	struct winsize size = {};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		return (struct winsize){ .ws_col = 80, .ws_row = 24 };
	return size;
}

int live_draw(struct output *o, const char *text, struct error *e)
{
	cleanup_strbuf struct strbuf picture = {};
	const struct winsize size = live_size();

	live_put(&picture, text, size.ws_col, size.ws_row);
	return output_put(o, picture.text, picture.n, e);
}

/* --- a file of -o --- */

/*
 * Standard output, or files of -o. A file is written whole or not at all: its bytes go to a
 * temporary file beside it, which is renamed when it is whole. That one's name has 16 digits more.
 *
 * Devices and FIFOs are written through. A symbolic link to anything else is replaced, so nobody's
 * link makes us write to another file. A file that was there keeps its permissions and its owner.
 * If we may not give it to that owner, it becomes ours alone, with a warning.
 */
struct report_output {
	const char *pattern; /* of -o, lent; NULL: standard output */
	const struct renderer *renderer;
	bool of_run;       /* each report covers all of the run; else the interval (-i) */
	unsigned keeps;    /* the flags of profile/merge.h that it shows */
	bool shows_so_far; /* when the user wants it, too: the run up to then */
	bool has_time;     /* @pattern has '%': a file for each report */
	char *last;        /* the name of the last one */
	unsigned n_alike;
	/* Of the file: */
	char *name;      /* as the user gave it, with the time filled in */
	char *temporary; /* of the temporary file; NULL: there is none */
	bool is_file;    /* else it is written through */
	int fd;          /* -1: none */
	off_t n_whole;   /* bytes of whole reports */
};

static void drop_temporary(struct report_output *f)
{
	if (f->temporary)
		(void)unlink(f->temporary);
	cleanup_free_p(&f->temporary);
	cleanup_close_fd(&f->fd);
}

static int make_temporary(struct report_output *f, mode_t mode, struct error *e)
{
	cleanup_free char *path = NULL;
	uint64_t number = 0;

	(void)!getrandom(&number, sizeof(number), 0);
	path = xasprintf("%s.%016llx", f->name, (unsigned long long)number);
	f->fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
	if (f->fd < 0)
		return error_errno(e, "write %s", f->name);
	f->temporary = TAKE(path);
	return 0;
}

/* Give up the file that has not taken its name, and close it. */
static void result_file_close(struct report_output *f)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

	drop_temporary(f);
	free(f->name);
	f->name = NULL;
	f->n_whole = 0;
}

/*
 * Look at @name, and see whether it can be written. Opening a FIFO waits for a reader. Errors: its
 * directory is not there, is not writable, ...; the caller closes it in any case.
 */
static int result_file_open(struct report_output *f, const char *name, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();
	struct stat st;
	int err;

	f->name = xstrdup(name);
	f->is_file = stat(f->name, &st) < 0 || S_ISREG(st.st_mode);
	if (f->is_file) {
		/* Whoever protects a file from us does not expect another one in its place. */
		cleanup_close int fd = open(f->name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		if (fd < 0 && errno != ENOENT)
			return error_errno(e, "open %s", f->name);
		err = make_temporary(f, 0600, e); /* a bad path fails at once */
		drop_temporary(f);
		return err;
	}
	f->fd = open(f->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return error_errno(e, "open %s", f->name);
	if (S_ISREG(st.st_mode)) /* this follows links, and somebody has made one */
		return error_set(e, -ELOOP, "open %s: it has become a link to a file", f->name);
	return 0;
}

/* A report begins: @f->fd takes its bytes. */
static int result_file_begin(struct report_output *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();
	struct stat old;
	int err;

	if (f->fd >= 0)
		return 0;

	const bool is_old = lstat(f->name, &old) == 0 && S_ISREG(old.st_mode);

	err = make_temporary(f, is_old ? 0600 : 0666, e);
	if (err || !is_old)
		return err;
	if (fchown(f->fd, old.st_uid, old.st_gid) < 0) { /* only CAP_CHOWN may give a file away */
		old.st_mode &= 0700;
		log_warn("%s had another owner or group, and is yours alone now", f->name);
	}
	return fchmod(f->fd, old.st_mode & 0777) < 0
		       ? error_errno(e, "set permissions of %s", f->name)
		       : 0;
}

/* The report is whole: the file takes its name. Later reports follow it in the same file. */
static int result_file_commit(struct report_output *f, struct error *e)
{
	cleanup(privileges_take_back) uint64_t before = privileges_lend_files();

	if (!f->is_file)
		return 0;

	/* Some file systems report a full disk or quota only when a descriptor is closed. */
	const int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	if ((copy >= 0 && close(copy) < 0) || (f->temporary && rename(f->temporary, f->name) < 0))
		return error_errno(e, "write %s", f->name);
	cleanup_free_p(&f->temporary);
	f->n_whole = lseek(f->fd, 0, SEEK_CUR);
	return 0;
}

/* --- the reports of a run --- */

#define LIVE_PERCENT 1.0

static bool is_per_process(const struct options *opt)
{
	return opt->per_process || opt->pids.n > 1;
}

/*
 * The flags of profile/merge.h for the properties of frames and stacks that @form shows. The frames
 * of a profile differ by no more.
 */
static unsigned keeps_of(const struct options *opt, const struct renderer *form)
{
	unsigned keeps = form->is_whole ? KEEP_SLICES : 0;

	if (form->wants_places || (opt->verbose && form->shows_addresses))
		keeps |= KEEP_ADDRESSES | KEEP_OFFSETS;
	if (form->wants_places || opt->lines)
		keeps |= KEEP_LINES;
	if (opt->offset)
		keeps |= KEEP_OFFSETS;
	if (form->is_whole || is_per_process(opt))
		keeps |= KEEP_COMMS | (form->is_bare ? 0U : KEEP_PIDS);
	return keeps;
}

/* --- names of files --- */

static int refuse_name(const char *file, struct error *e)
{
	const size_t n = strlen(file);
	cleanup_strbuf struct strbuf endings = {};
	struct stat st;

	if ((n && file[n - 1] == '/') || (stat(file, &st) == 0 && S_ISDIR(st.st_mode)))
		return error_set(e, -EISDIR, "-o %s: names a folder, not a file", file);
	if (strcmp(file, "/dev/stdout") == 0) /* a file that has no ending here */
		return error_set(e, -EINVAL,
				 "-o %s: its ending names no form; --format FORM is for standard "
				 "output",
				 file);
	for (const struct renderer *form = renderers; form->name; form++)
		strbuf_printf(&endings, "%s%s", endings.n ? ", " : "", form->ending);
	return error_set(e, -EINVAL, "-o %s: its ending names no form; there are %s", file,
			 endings.text);
}

/* Devices and FIFOs may have any name. */
static int choose_form(const char *file, const struct options *opt, const struct renderer **ret,
		       struct error *e)
{
	struct stat st;

	*ret = renderer_of_file(file);
	if (!*ret && stat(file, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		*ret = renderer_find(opt->format ? opt->format : "text");
	return *ret ? 0 : refuse_name(file, e);
}

/* An option that no form asked for would look at. */
static int refuse_unused(const char *option, size_t flag, struct error *e)
{
	cleanup_strbuf struct strbuf ways = {};

	for (const struct renderer *form = renderers; form->name; form++)
		if (*(const bool *)((const char *)form + flag))
			strbuf_printf(&ways, "%s--format %s, -o FILE%s", ways.n ? ", " : "",
				      form->name, form->ending);
	return error_set(e, -EINVAL, "%s needs a form that it changes: --live, %s", option,
			 ways.text);
}

int reports_check(const struct options *opt, struct error *e)
{
	bool inverts = opt->live, leaves_out = opt->live;

	for (size_t i = 0; i <= opt->n_outputs; i++) {
		const struct renderer *form = opt->format ? renderer_find(opt->format) : NULL;
		const int err =
			i < opt->n_outputs ? choose_form(opt->outputs[i], opt, &form, e) : 0;

		if (err)
			return err;
		inverts |= form && form->begins_inverted;
		leaves_out |= form && form->leaves_out;
	}
	if (opt->invert && !inverts)
		return refuse_unused("--invert", offsetof(struct renderer, begins_inverted), e);
	if (opt->min_percent > 0 && !leaves_out)
		return refuse_unused("--min-percent", offsetof(struct renderer, leaves_out), e);
	return 0;
}

/* Two reports in the time that the pattern can tell: "run-12.txt", "run-12-2.txt". */
static void make_name_unique(struct report_output *out, char name[PATH_MAX])
{
	const char *ending = out->renderer->ending;
	const size_t n = strlen(name), n_ending = strlen(ending);

	if (!out->last || strcmp(out->last, name) != 0) {
		free(out->last);
		out->last = xstrdup(name);
		out->n_alike = 0;
	}
	if (++out->n_alike > 1 && n >= n_ending && n + 16 <= PATH_MAX)
		(void)snprintf(name + n - n_ending, n_ending + 16, "-%u%s", out->n_alike, ending);
}

/*
 * Open the next file: "run-%H.txt" with the present time. @is_trial: only look whether the path is
 * good, if each report makes the file anew.
 */
static int open_next_file(struct report_output *out, bool is_trial, struct error *e)
{
	const time_t now = time(NULL);
	char name[PATH_MAX];
	struct tm local;
	int err;

	if (strftime(name, PATH_MAX, out->pattern, localtime_r(&now, &local)) == 0)
		return error_set(e, -EINVAL, "-o %s: no name comes of this pattern", out->pattern);
	if (!is_trial && out->has_time)
		make_name_unique(out, name);
	result_file_close(out); /* what a failure has left */
	err = result_file_open(out, name, e);
	if (is_trial && out->has_time)
		result_file_close(out);
	return err;
}

/* --- opening --- */

/*
 * A file of a form that keeps slices has all intervals as slices. Others have a report for each, as
 * standard output has.
 */
static void set_wishes(struct reports *r, struct report_output *out)
{
	const struct renderer *form = out->renderer;
	const bool has_all = !r->opt->interval_ns || r->opt->live ||
			     (out->pattern && !out->has_time && form->is_whole);

	out->of_run = has_all;
	r->wants_run |= has_all;
	r->wants_interval |= !has_all;
	/* Readers of data would count it twice. */
	out->shows_so_far =
		!r->opt->interval_ns && !r->opt->n_minus && !out->pattern && !form->is_alone;
	r->shows_so_far |= out->shows_so_far;
	out->keeps = keeps_of(r->opt, form);
	r->keeps |= out->keeps;
	if (form->wants_places && r->identity < IDENTITY_PLACE)
		r->identity = IDENTITY_PLACE;
	if (form->shows_addresses && r->opt->verbose)
		r->identity = IDENTITY_ADDRESS;
}

/* @pattern: of a file; NULL: standard output. */
static int add_output(struct reports *r, const char *pattern, struct error *e)
{
	struct report_output *out = &r->outputs[r->n++];
	int err = 0;

	*out = (struct report_output){ .pattern = pattern, .renderer = r->text, .fd = -1 };
	out->has_time = pattern && strchr(pattern, '%');
	if (pattern)
		err = choose_form(pattern, r->opt, &out->renderer, e);
	if (pattern && !err)
		err = open_next_file(out, true, e);
	if (err)
		return err;
	set_wishes(r, out);
	r->has_files |= out->has_time || out->is_file;
	return 0;
}

int reports_open(struct reports *r, const struct options *opt, struct error *e)
{
	int err = 0;

	*r = (struct reports){ .opt = opt };
	r->outputs = xcalloc(opt->n_outputs + 1, sizeof(*r->outputs));
	if (opt->live)
		r->keeps |= keeps_of(opt, renderer_find("tree"));
	r->text = opt->format ? renderer_find(opt->format) : NULL;
	if (r->text)
		err = add_output(r, NULL, e);
	for (size_t i = 0; i < opt->n_outputs && !err; i++)
		err = add_output(r, opt->outputs[i], e);
	if (r->keeps & KEEP_OFFSETS && r->identity < IDENTITY_OFFSET)
		r->identity = IDENTITY_OFFSET;
	return err;
}

void reports_close(struct reports *r)
{
	for (size_t i = 0; i < r->n; i++) {
		result_file_close(&r->outputs[i]);
		free(r->outputs[i].last);
	}
	free(r->outputs);
	changes_free(r->changes);
	*r = (struct reports){};
}

/* --- writing --- */

/* Does the user's locale have characters that draw lines? */
static bool has_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && value[0])
			return strcasestr(value, "UTF-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* How the user wants profiles to look. Strings are lent by @opt. */
static struct render_style style_of_reports(const struct options *opt, bool is_terminal)
{
	const char *never = getenv("NO_COLOR"); /* see https://no-color.org */
	const char *terminal = getenv("TERM");

	return (struct render_style){
		.offsets = opt->offset,
		.addresses = opt->verbose,
		.delimited = opt->delimited && !opt->kernel_only && !opt->user_only,
		.per_process = is_per_process(opt),
		.of_profile = opt->tool == TOOL_PROFILE,
		.annotated = opt->annotated,
		.invert = opt->invert,
		.min_percent = opt->min_percent,
		.ascii = !has_utf8(),
		.colours = is_terminal && !(never && never[0]) && isatty(STDOUT_FILENO) &&
			   !(terminal && strcmp(terminal, "dumb") == 0),
	};
}

#define MOST_ON_TERMINAL 100 /* stacks of text */

static int render_report(const struct reports *r, const struct report_output *out,
			 struct profile *p, const char *clock, struct output *to, struct error *e)
{
	const struct options *opt = r->opt;
	struct render_style style = style_of_reports(opt, !out->pattern);

	style.time = clock;
	style.changes = r->changes;
	if (!out->pattern && isatty(STDOUT_FILENO) && opt->top == TOP_UNSET && !opt->min_count)
		style.most = MOST_ON_TERMINAL;
	profile_choose(p, opt->min_count, (size_t)opt->top);
	return output_explain(to, out->renderer->render(p, &style, output_write, to), e);
}

static int append_text(void *to, const char *bytes, size_t n)
{
	strbuf_put(to, bytes, n);
	return 0;
}

void reports_put_tree(const struct reports *r, const struct profile *p, struct strbuf *to)
{
	const struct renderer *tree = renderer_find("tree");
	cleanup(profile_freep) struct profile *own = profile_merge(&p, 1, keeps_of(r->opt, tree));
	struct render_style style = style_of_reports(r->opt, true);

	style.min_percent = r->opt->min_percent > 0 ? r->opt->min_percent : LIVE_PERCENT;
	profile_choose(own, r->opt->min_count, (size_t)r->opt->top);
	(void)tree->render(own, &style, append_text, to);
}

static int write_file(const struct reports *r, struct report_output *out, struct profile *p,
		      const char *clock, struct output *o, struct error *e)
{
	int err = out->has_time ? open_next_file(out, false, e) : 0;

	if (!err)
		err = result_file_begin(out, e);
	if (err)
		return err;

	struct output to = *o;

	to.fd = out->fd;
	to.name = out->name;
	to.has_no_reader = false;
	err = render_report(r, out, p, clock, &to, e);
	if (!err && to.has_no_reader)
		err = error_set(e, -EPIPE, "write to %s: nobody reads it any more", out->name);
	if (!err)
		err = result_file_commit(out, e);
	else if (out->is_file && ftruncate(out->fd, out->n_whole) == 0)
		(void)lseek(out->fd, out->n_whole, SEEK_SET); /* it is not whole */
	if (out->has_time)
		result_file_close(out);
	return err;
}

static int write_output(const struct reports *r, struct report_output *out, struct profile *p,
			const char *clock, struct output *o, struct error *e)
{
	const struct profile *from = p;
	cleanup(profile_freep) struct profile *own = NULL;

	if (r->n > 1 || out->keeps != r->keeps)
		p = own = profile_merge(&from, 1, out->keeps);
	return out->pattern ? write_file(r, out, p, clock, o, e)
			    : render_report(r, out, p, clock, o, e);
}

static struct profile *profile_of(const struct report_output *out, const struct report_profiles *p)
{
	if (!out->of_run)
		return p->interval;
	return p->is_early && !out->shows_so_far ? NULL : p->run;
}

/* Losses are in each form that has a place for them. Else they are a message, once for each hit. */
static void warn_report_losses(const struct reports *r, const struct report_profiles *profiles)
{
	const struct profile *p = r->text             ? profile_of(&r->outputs[0], profiles)
				  : r->wants_interval ? profiles->interval
						      : profiles->run;

	if (p && (!r->text || r->text->is_bare))
		output_warn_losses(p->losses, p->n_losses, profile_n_hits(p));
}

int reports_write(struct reports *r, const struct report_profiles *profiles, const char *clock,
		  struct output *o, struct error *e)
{
	struct error later;
	int err = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct report_output *out = &r->outputs[i];
		struct profile *p = profile_of(out, profiles);

		if (p && !err)
			err = write_output(r, out, p, clock, o, e);
		else if (p && write_output(r, out, p, clock, o, &later))
			log_warn("%s", later.text);
	}
	warn_report_losses(r, profiles);
	return err;
}
