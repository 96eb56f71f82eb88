// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rows of the store become reports (tool/output.h) at the end and at intervals:
 *
 *	store_rows() --names--> profile --form--> standard output, files
 *
 * The store forgets rows that were reported, unless an output shows the whole run: then it keeps
 * all, and slices (tool/slices.h) have what is new in each interval.
 */
#include "tool/run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "profile/merge.h"
#include "store/store.h"
#include "tool/slices.h"

/* The part of --max-memory for slices. */
#define SLICES_SHARE 8

/*
 * A line on standard error, rewritten once a second:
 *
 *	12 s, 3456789 hits, 280000/s, 312 rows, 0 lost
 */
struct progress {
	bool is_on, is_shown;
	uint64_t due_ns; /* CLOCK_MONOTONIC: when the line is to be shown; UINT64_MAX: never */
	uint64_t last_ns, last_hits;
};

struct stackcount {
	struct store_budget budget;
	struct store *store;
	uint64_t cuts[CUTS]; /* by stack_cut(): hits of the rows named so far */
	struct reports reports;
	struct slices slices;
	struct progress progress;
	struct strbuf held;      /* --live: the messages */
	uint64_t live_due_ns;    /* --live: before, no picture is made; 0: there was none */
	uint64_t n_hits;         /* of rows that the store no longer has */
	uint64_t begin_ns;       /* of counting, CLOCK_MONOTONIC */
	uint64_t report_ns;      /* of the present interval, likewise */
	uint64_t losses[LOSS_N]; /* up to the last report */
	struct error failure;    /* of writing an interval's report; it has ended the run */
};

/* --- how and when a profile is made --- */

/* Append @word as a shell takes it for one word. */
static void about_quote(struct strbuf *to, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "_@%+=:,./-";

	if (word[0] && !word[strspn(word, plain)]) {
		strbuf_puts(to, word);
		return;
	}
	strbuf_putc(to, '\'');
	for (; *word; word++)
		if (*word == '\'')
			strbuf_puts(to, "'\\''");
		else
			strbuf_putc(to, *word);
	strbuf_putc(to, '\'');
}

static const char *command_line(struct strtab *strings, const struct options *opt)
{
	cleanup_strbuf struct strbuf line = {};

	for (char *const *word = opt->argv; word && *word; word++) {
		if (line.n)
			strbuf_putc(&line, ' ');
		about_quote(&line, *word);
	}
	return line.n ? strtab_add(strings, line.text) : NULL;
}

/* Of perf events, only --period says it: else the kernel adjusts it, or it is the event's own. */
static void set_run_period(struct profile *p, const struct options *opt)
{
	static const struct profile_value event = { "event", "count" };
	static const struct profile_value cpu = { "cpu", "nanoseconds" };
	const bool is_of_cpu = opt->tool == TOOL_PROFILE;
	bool has_perf_event = false;

	for (size_t i = 0; i < opt->patterns.n; i++)
		has_perf_event |= strncmp(opt->patterns.texts[i], "e:", 2) == 0;
	p->about.period_type = is_of_cpu ? cpu : event;
	p->about.period = has_perf_event ? (int64_t)opt->period : 1;
	if (is_of_cpu && opt->frequency)
		p->about.period = (int64_t)(1000000000 / opt->frequency);
}

/*
 * Add @losses, with @before those of earlier reports, too (NULL: none), and set p->about for a
 * count of @span_ns, from and to times of CLOCK_MONOTONIC. @p owns copies of the strings.
 */
static void finish_profile(const struct run *r, struct profile *p,
			   const struct profile_loss losses[LOSS_N], const uint64_t *before,
			   const uint64_t span_ns[2])
{
	cleanup_strbuf struct strbuf program = {};
	struct hit_cost since_begin = {};
	struct utsname names;

	for (int i = 0; i < LOSS_N; i++)
		profile_add_loss(p, losses[i].reason, losses[i].n + (before ? before[i] : 0));
	strbuf_printf(&program, "%s %s", tool_name(r->opt->tool), VERSION);
	p->about.program = strtab_add(p->strings, program.text);
	p->about.command_line = command_line(p->strings, r->opt);
	if (uname(&names) == 0) {
		p->about.host = strtab_add(p->strings, names.nodename);
		p->about.kernel = strtab_add(p->strings, names.release);
	}
	p->about.begin_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - span_ns[0]);
	p->about.duration_ns = span_ns[1] - span_ns[0];
	p->about.cost_ns = hits_cost_ns(r, &since_begin);
	set_run_period(p, r->opt);
}

/* --- profiles --- */

/* When this many names are unknown, ask for all of them. */
#define NAMES_AT_ONCE 65536

static struct raw_stack read_user_stack(const struct store_row *row, const struct store *store,
					uint64_t words[STACK_WORDS])
{
	return (struct raw_stack){ .words = words,
				   .n = store_stack(store, row->user_stack, words),
				   .flags = row->flags,
				   .tgid = row->tgid,
				   .time = row->first };
}

/*
 * Name the frames of @row, and add its stack to the profile, with number *@ret. False: it is not
 * added, because a name is put off.
 */
static bool name_row(struct run *r, const struct store_row *row, struct profile_builder *builder,
		     uint32_t *ret)
{
	struct stackcount *t = r->own;
	uint32_t frames[STACK_WORDS + USER_FRAMES], user[USER_FRAMES];
	const int64_t hits = (int64_t)row->count;
	struct profile_stack stack = { .count = r->values.name ? row->sum : hits,
				       .more = r->values.name ? &hits : NULL,
				       .frames = frames };
	uint64_t words[STACK_WORDS], cut, user_cut;
	struct raw_stack raw = read_user_stack(row, t->store, words);
	bool is_whole;

	stack.n_user =
		name_known_user_stack(r->symbolizer, &raw, r->opt->max_depth, user, &is_whole);
	if (!is_whole)
		return false;
	user_cut = stack_cut(&raw);
	raw.n = store_stack(t->store, row->kernel_stack, words);
	stack.n_kernel = name_kernel_stack(r->symbolizer, &raw, r->opt->max_depth, frames);
	cut = stack_cut(&raw);
	t->cuts[cut ? cut : user_cut] += row->count;
	memcpy(frames + stack.n_kernel, user, stack.n_user * sizeof(*user));
	if (t->reports.keeps & KEEP_COMMS)
		stack.comm = symbolizer_comm(r->symbolizer,
					     process_key(row->tgid, row->flags >> KEY_LIFE_SHIFT),
					     row->first);
	if (t->reports.keeps & KEEP_PIDS)
		stack.pid = row->tgid;
	*ret = profile_builder_add(builder, &stack);
	return true;
}

/*
 * Name rows in their order. At a row with an unknown name, collect the unknown names of all further
 * rows, and ask for them at once. @stacks: where the stacks' numbers go.
 */
static void name_all_rows(struct run *r, const struct store_row *rows, size_t n_rows,
			  struct profile_builder *builder, uint32_t *stacks)
{
	const struct stackcount *t = r->own;
	size_t n_named = 0;

	do {
		for (; n_named < n_rows && name_row(r, &rows[n_named], builder, &stacks[n_named]);
		     n_named++)
			run_serve(r);
		for (size_t i = n_named, n_put_off = 0; i < n_rows && n_put_off < NAMES_AT_ONCE;
		     i++) {
			uint64_t words[STACK_WORDS];
			const struct raw_stack raw = read_user_stack(&rows[i], t->store, words);

			n_put_off = want_user_stack(r->symbolizer, &raw);
			run_serve(r);
		}
		(void)symbolizer_fetch(r->symbolizer);
	} while (n_named < n_rows);
}

/* The profile of @n_rows @rows; the caller frees it. @slices: their slices, or NULL. */
static struct profile *make_profile(struct run *r, const struct store_row *rows, size_t n_rows,
				    const struct slices *slices)
{
	cleanup(profile_builder_freep) struct profile_builder *builder =
		profile_builder_new(r->values.name ? 2 : 1);
	cleanup_free uint32_t *stacks = xcalloc(n_rows + 1, sizeof(*stacks));
	struct profile *p;

	name_all_rows(r, rows, n_rows, builder, stacks);
	if (slices)
		slices_put(slices, builder, stacks);
	p = profile_builder_finish(builder, symbolizer_frames(r->symbolizer));
	if (!r->values.name)
		return p;
	p->values[1] = p->values[0];
	p->values[0] = (struct profile_value){ strtab_add_or_null(p->strings, r->values.name),
					       strtab_add_or_null(p->strings, r->values.unit) };
	return p;
}

/* Does any output show all intervals together? */
static bool keeps_rows(const struct reports *r)
{
	return r->shows_so_far || (r->opt->interval_ns && r->wants_run);
}

/* --- the line of progress --- */

#define PROGRESS_NS NS_PER_S
#define PROGRESS_SIZE 160

/* Go to the beginning of the line, and erase it. */
#define ERASE "\r\033[K"

/* If standard error is a terminal. */
static void progress_begin(struct progress *p, uint64_t now)
{
	const char *terminal = getenv("TERM");

	p->is_on = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
	if (!p->is_on)
		return;
	p->due_ns = now + PROGRESS_NS;
	log_begin_with(ERASE);
}

/* How long a line may be. One that wraps could not be erased: its first part would stay. */
static int room_of_line(void)
{
	struct winsize size = {};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return INT_MAX;
	return size.ws_col - 1;
}

/* Make the line. The caller cuts it at @room columns. */
static void progress_put(struct stackcount *t, uint64_t now, int room, char line[PROGRESS_SIZE])
{
	struct progress *p = &t->progress;
	const double seconds = (double)(now - p->last_ns) / NS_PER_S;
	const unsigned long long elapsed = (now - t->begin_ns) / NS_PER_S;
	unsigned long long hits = t->n_hits, lost = 0;
	uint64_t losses[LOSS_N];
	size_t n;
	const struct store_row *rows = store_look(t->store, &n);

	for (size_t i = 0; i < n; i++)
		hits += rows[i].count;
	losses_read(store_losses(t->store), losses);
	for (int i = 0; i < LOSS_HITS_N; i++)
		lost += t->losses[i] + losses[i];
	if (snprintf(line, PROGRESS_SIZE, "%llu s, %llu hit%s, %.0f/s, %zu row%s, %llu lost",
		     elapsed, hits, text_plural(hits),
		     seconds > 0 ? (double)(hits - p->last_hits) / seconds : 0, n, text_plural(n),
		     lost) > room) /* losses come first, because the rest may be cut */
		(void)snprintf(line, PROGRESS_SIZE, "%llu lost, %llu hit%s, %llu s", lost, hits,
			       text_plural(hits), elapsed);
	p->last_ns = now;
	p->last_hits = hits;
}

/* Show @text in place of the line. */
static void progress_say(struct progress *p, const char *text)
{
	if (!p->is_on)
		return;
	(void)fprintf(stderr, ERASE "%.*s", room_of_line(), text);
	(void)fflush(stderr);
	p->is_shown = true;
}

/* Remove the line, before anything else is printed. log_begin_with("") ends it for good. */
static void progress_clear(struct progress *p)
{
	if (p->is_shown)
		(void)fputs(ERASE, stderr);
	p->is_shown = false;
}

/* --- reports --- */

static void free_profiles(struct report_profiles *p)
{
	profile_free(p->interval);
	profile_free(p->run);
}

/* Make the profiles that the outputs show of the @n @rows at time @now. */
static void make_counted(struct run *r, const struct store_row *rows, size_t n, uint64_t now,
			 struct report_profiles *ret)
{
	struct stackcount *t = r->own;
	const struct reports *to = &t->reports;
	const bool has_interval = to->wants_interval, has_slices = t->slices.most_bytes;
	const bool has_run = (!ret->is_early || to->opt->live || to->shows_so_far) && to->wants_run;
	size_t n_last = 0;
	cleanup_free struct store_row *last =
		has_slices && has_interval ? xcalloc(n + 1, sizeof(*last)) : NULL;

	if (has_slices)
		n_last = slices_end_one(&t->slices, rows, n, now, last);
	if (has_interval)
		ret->interval = make_profile(r, last ? last : rows, last ? n_last : n, NULL);
	if (!has_run)
		return;
	memset(t->cuts, 0, sizeof(t->cuts)); /* of rows that come again */
	ret->run = make_profile(r, rows, n, has_slices ? &t->slices : NULL);
}

/* Add what is not in rows: the losses since the last report, times, and the like. */
static void finish_profiles(struct run *r, uint64_t now, struct report_profiles *ret)
{
	struct stackcount *t = r->own;
	struct profile_loss losses[LOSS_N];

	run_losses(r, store_losses(t->store), losses);
	if (ret->interval)
		finish_profile(r, ret->interval, losses, NULL, (uint64_t[]){ t->report_ns, now });
	if (ret->run)
		finish_profile(r, ret->run, losses, t->losses, (uint64_t[]){ t->begin_ns, now });
	for (int i = 0; i < LOSS_N; i++)
		t->losses[i] += losses[i].n;
	t->report_ns = now;
}

/* The @n @rows are the store's again, so hits that come while nobody reads belong to the next
 * report. */
static void give_rows_back(struct stackcount *t, const struct store_row *rows, size_t n,
			   bool is_last)
{
	if (keeps_rows(&t->reports) && !is_last) {
		store_keep(t->store);
		return;
	}
	for (size_t i = 0; i < n; i++)
		t->n_hits += rows[i].count;
	store_clear(t->store);
}

/* --live: a line of numbers, the last message, and the tree of the run so far. */
static int draw_picture(struct run *r, const struct profile *p, struct error *e)
{
	struct stackcount *t = r->own;
	const char *before = t->held.n ? memrchr(t->held.text, '\n', t->held.n - 1) : NULL;
	const char *message = before ? before + 1 : t->held.n ? t->held.text : "";
	cleanup_strbuf struct strbuf text = {};
	char line[PROGRESS_SIZE];

	progress_put(t, t->report_ns, live_size().ws_col, line);
	strbuf_printf(&text, "%s\n%s", line, message);
	reports_put_tree(&t->reports, p, &text);
	return live_draw(&r->output, text.text, e);
}

static int print_reports(struct run *r, bool is_last, struct error *e)
{
	struct stackcount *t = r->own;
	cleanup(free_profiles) struct report_profiles profiles = { .is_early = !is_last };
	const struct store_row *rows;
	const time_t now = time(NULL);
	struct tm local;
	char text[16];
	const char *clock = NULL;
	uint64_t counted_at;
	size_t n;

	if (r->opt->timestamp &&
	    strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&now, &local)))
		clock = text;
	progress_clear(&t->progress);
	if (is_last)
		progress_say(&t->progress, "looking up names, Ctrl-C ends it");
	run_refresh(r);
	counted_at = clock_ns(CLOCK_MONOTONIC);
	rows = store_rows(t->store, &n);
	r->deferral.hold = 0; /* later hits belong to the next report */
	make_counted(r, rows, n, counted_at, &profiles);
	finish_profiles(r, counted_at, &profiles);
	r->is_filling = r->is_filling || store_awaits_room(t->store);
	give_rows_back(t, rows, n, is_last);
	progress_clear(&t->progress);
	if (is_last)
		log_begin_with("");
	run_warn_nameless(r);
	symbolizer_trim(r->symbolizer);
	if (r->opt->live && !is_last)
		return draw_picture(r, profiles.run, e);
	return reports_write(&t->reports, &profiles, clock, &r->output, e);
}

/* --- intervals --- */

/* A report waits for the walks of its deferred hits, but not for long: further hits come. */
#define WALKS_NS (3 * NS_PER_S / 10)

/* All hits of an interval are in the store, those that were deferred, too. */
static int end_interval(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const uint32_t turn = object_state(r->object)->turn;
	const int err = store_rotate(t->store, e);

	run_hear(r); /* all records and notices up to the last hit */
	deferral_settle(&r->deferral, turn, WALKS_NS);
	return err;
}

static int stackcount_print_report(struct run *r, struct error *e)
{
	const struct stackcount *t = r->own;
	const int err = print_reports(r, true, e);
	cleanup_strbuf struct strbuf cuts = {};

	stack_put_cuts(t->cuts, r->opt->max_depth, &cuts);
	if (cuts.n)
		log_warn("%s", cuts.text);
	if (!t->failure.code)
		return err;
	if (err)
		log_warn("%s", e->text);
	return error_set(e, t->failure.code, "%s", t->failure.text);
}

/* --- slices --- */

/* Its rows are not named. */
static void end_slice(struct stackcount *t)
{
	size_t n;
	const struct store_row *rows = store_look(t->store, &n);

	(void)slices_end_one(&t->slices, rows, n, clock_ns(CLOCK_MONOTONIC), NULL);
}

static uint64_t stackcount_due(const struct run *r)
{
	const struct stackcount *t = r->own;

	return earlier_time(t->progress.due_ns, t->slices.due_ns);
}

/* --- parts of a run --- */

static int stackcount_prepare(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	int err = r->opt->live ? live_check(e) : 0;

	if (!err)
		err = reports_open(&t->reports, r->opt, e);
	if (t->reports.keeps & KEEP_SLICES && t->reports.wants_run) {
		t->slices.is_growing = !r->opt->interval_ns;
		t->slices.most_bytes = r->opt->max_memory / SLICES_SHARE;
	}
	r->writes_files = t->reports.has_files;
	return err;
}

static int stackcount_set_up(struct run *r, struct object_options *o, struct error *e)
{
	struct stackcount *t = r->own;
	struct store_budget *budget = &t->budget;
	struct trace_config *config = &o->config;
	uint64_t bytes = r->opt->max_memory - t->slices.most_bytes;
	const int err = set_up_values(r, &bytes, o, e);

	budget->has_sum = t->slices.of_sums = r->values.name;
	budget->has_pairs = r->opt->patterns.elapsed;
	store_divide(bytes, o->n_cpus, budget);
	o->max_rows = budget->max_rows;
	o->max_chunks = budget->max_chunks;
	config->per_process |= (t->reports.keeps & KEEP_COMMS) != 0;
	config->has_sum = budget->has_sum;
	config->n_hot_rows = budget->n_hot_rows;
	config->rows_to_notice = budget->max_rows / 8;
	config->max_chunks = budget->max_chunks;
	config->chunks_to_notice = budget->max_chunks / 2;
	return err;
}

static void open_store(struct run *r)
{
	struct stackcount *t = r->own;

	t->store = store_new(r->object, &t->budget, r->n_cpus);
	store_set_end(t->store, ending_is_near, r);
	run_make_symbolizer(r, t->reports.identity);
}

static void stackcount_start(struct run *r)
{
	struct stackcount *t = r->own;

	store_start(t->store);
	t->begin_ns = t->report_ns = clock_ns(CLOCK_MONOTONIC);
	t->progress = (struct progress){ .due_ns = UINT64_MAX, .last_ns = t->begin_ns };
	if (!r->opt->quiet && !r->opt->live)
		progress_begin(&t->progress, t->begin_ns);
	slices_begin(&t->slices, t->begin_ns);
}

static int stackcount_put_header(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const struct renderer *text = t->reports.text;
	const bool is_for_data = text && text->is_alone;
	const int err = run_put_header(r, is_for_data, e);

	r->tells_end = r->opt->tool != TOOL_PROFILE && text && !is_for_data;
	if (!err && r->opt->live)
		log_hold(&t->held);
	return err;
}

static int stackcount_on_wake(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char line[PROGRESS_SIZE];
	int err;

	if (r->is_filling) {
		r->is_filling = false;
		return store_rotate(t->store, e);
	}
	if (now < stackcount_due(r))
		return 0;
	err = store_rotate(t->store, e);
	if (now >= t->slices.due_ns) /* a deferred hit may belong to the next one */
		end_slice(t);
	if (now >= t->progress.due_ns) {
		progress_put(t, now, room_of_line(), line);
		progress_say(&t->progress, line);
		t->progress.due_ns = now + PROGRESS_NS;
	}
	return err;
}

static void stackcount_on_serve(struct run *r)
{
	struct error e;

	if (r->is_filling && stackcount_on_wake(r, &e) != 0)
		r->is_filling = true;
}

static void stackcount_on_deferred(void *run, const struct recorded *recorded,
				   const uint64_t *words, size_t n)
{
	const struct run *r = run;
	struct stackcount *t = r->own;
	uint64_t kernel[SHORT_WORDS];

	if (r->opt->patterns.elapsed) {
		store_keep_late(t->store, recorded->hit->number, words, n);
		return;
	}

	const struct store_hit hit = { .key = recorded->hit->key,
				       .time = recorded->hit->time,
				       .value = recorded->hit->value,
				       .kernel = kernel,
				       .n_kernel = recorded_kernel_words(recorded, kernel),
				       .user = words,
				       .n_user = n };

	store_add(t->store, &hit);
}

/* Making a picture of --live takes a tenth of the time at most, so that capture has the rest. */
#define LIVE_SHARE 10

static int stackcount_on_interval(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	int err;

	if (begin < t->live_due_ns)
		return 0;
	if (!r->opt->interval_ns && !t->reports.shows_so_far) {
		log_warn("SIGUSR1: only text and trees on standard output show the run so far");
		return 0;
	}
	err = end_interval(r, e);
	if (!r->opt->live && r->opt->interval_ns && !t->reports.wants_interval) {
		end_slice(t);
		r->deferral.hold = 0;
		return err;
	}
	if (err)
		return err;
	err = print_reports(r, false, &t->failure);
	if (r->opt->live)
		t->live_due_ns = begin + (clock_ns(CLOCK_MONOTONIC) - begin) * LIVE_SHARE;
	if (err == -EINTR) /* the user does not want to wait for anything more */
		return error_set(e, err, "%s", t->failure.text);
	r->is_enough = r->is_enough || err; /* the last report has what can be written */
	return 0;
}

static int stackcount_stop(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	int err = store_stop(t->store, e);

	if (!err && t->live_due_ns)
		err = live_draw(&r->output, "", e);
	log_release();
	return err;
}

static void close_store(struct run *r)
{
	struct stackcount *t = r->own;

	store_free(t->store);
	slices_fini(&t->slices);
	log_release();
}

int count_stacks(const struct options *opt, struct error *e)
{
	static const struct tool_parts tool = {
		.has_stacks = true,
		.prepare = stackcount_prepare,
		.set_up = stackcount_set_up,
		.open = open_store,
		.start = stackcount_start,
		.put_header = stackcount_put_header,
		.due = stackcount_due,
		.on_wake = stackcount_on_wake,
		.on_deferred = stackcount_on_deferred,
		.on_serve = stackcount_on_serve,
		.on_interval = stackcount_on_interval,
		.stop = stackcount_stop,
		.report = stackcount_print_report,
		.close = close_store,
	};
	struct stackcount own = {};
	const int err = run_tool(&tool, &own, opt, e);

	reports_close(&own.reports);
	return err;
}
