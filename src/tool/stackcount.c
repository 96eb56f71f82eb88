// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/stackcount.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "profile/builder.h"
#include "report/render.h"
#include "store/store.h"
#include "symbolize/stack.h"
#include "symbolize/symbolize.h"
#include "tool/run.h"

/*
 * If the kernel allocates maps as a whole (before Linux 6.1), the second level comes at this many
 * rows.
 */
#define EARLY_ROWS 8192

struct stackcount {
	struct store_budget budget;
	struct store *store;
	struct symbolizer *symbolizer;
	const struct renderer *renderer;
	bool is_filling; /* NOTICE_FILLING has come */
	bool was_trouble_told;
};

/* --- rows to stacks --- */

static bool is_per_process(const struct options *opt)
{
	return opt->per_process || opt->pids.n > 1;
}

/* The rows and frames of one question for names, at most. */
#define ROWS_AT_ONCE 16384
#define FRAMES_AT_ONCE (1U << 18)
#define MOST_FRAMES (STACK_WORDS + (size_t)(USER_FRAMES))

/*
 * A row's frames, which begin at named_rows.frames[first]. Unless @is_whole, names were put off,
 * and their frames are missing.
 */
struct named_row {
	size_t first;
	uint32_t n_kernel, n_user;
	bool is_whole;
};

struct named_rows {
	uint64_t now; /* ns of CLOCK_MONOTONIC: later than all rows */
	struct named_row rows[ROWS_AT_ONCE];
	uint32_t *frames;
	size_t n, capacity;
};

/*
 * Append the frames of @row. @is_put_off: put off names that are not known yet, and leave out their
 * frames.
 */
static struct named_row name_row(const struct run *r, const struct store_row *row,
				 struct named_rows *to, bool is_put_off)
{
	const struct stackcount *t = r->own;
	const uint64_t max_depth = r->opt->max_depth;
	uint64_t words[STACK_WORDS];
	struct raw_stack stack = { words, 0, row->flags, row->tgid, row->first, to->now };
	struct named_row ret = { .first = to->n, .is_whole = true };
	uint32_t *frames;

	while (to->capacity < to->n + MOST_FRAMES)
		to->frames = array_room(to->frames, to->capacity, &to->capacity, sizeof(*frames));
	frames = to->frames + to->n;
	stack.n = store_stack(t->store, row->kernel_stack, words);
	ret.n_kernel = name_kernel_stack(t->symbolizer, &stack, max_depth, frames);
	frames += ret.n_kernel;
	stack.n = store_stack(t->store, row->user_stack, words);
	ret.n_user = is_put_off ? name_known_user_stack(t->symbolizer, &stack, max_depth, frames,
							&ret.is_whole)
				: name_user_stack(t->symbolizer, &stack, max_depth, frames);
	to->n += ret.n_kernel + ret.n_user;
	return ret;
}

static void report_row(const struct run *r, const struct store_row *row,
		       const struct named_row *named, const struct named_rows *of,
		       struct profile_builder *builder)
{
	const struct stackcount *t = r->own;
	struct profile_stack stack = { .count = row->count,
				       .frames = of->frames + named->first,
				       .n_kernel = named->n_kernel,
				       .n_user = named->n_user };

	if (is_per_process(r->opt)) {
		stack.pid = t->renderer->shows_pids ? row->tgid : 0;
		stack.comm = symbolizer_comm(t->symbolizer,
					     process_key(row->tgid, row->flags >> KEY_LIFE_SHIFT),
					     row->first);
	}
	profile_builder_add(builder, &stack);
}

/* A row takes microseconds, so reading the clock for each row would cost a part of that. */
#define ROWS_BETWEEN_SERVING 16

static void serve_sometimes(struct run *r, size_t row)
{
	if (row % ROWS_BETWEEN_SERVING == 0)
		run_serve(r);
}

/*
 * Put off unknown names of many rows, and ask for all of them at once. Returns how many of the @n
 * @rows are done.
 */
static size_t name_some_rows(struct run *r, const struct store_row *rows, size_t n,
			     struct named_rows *named, struct profile_builder *builder)
{
	struct symbolizer *symbolizer = ((struct stackcount *)r->own)->symbolizer;
	size_t n_named = 0;

	named->n = 0;
	named->now = clock_ns(CLOCK_MONOTONIC);
	symbolizer_defer(symbolizer);
	for (; n_named < n && n_named < ROWS_AT_ONCE && named->n < FRAMES_AT_ONCE; n_named++) {
		named->rows[n_named] = name_row(r, &rows[n_named], named, true);
		serve_sometimes(r, n_named);
	}
	(void)symbolizer_fetch(symbolizer);
	for (size_t i = 0; i < n_named; i++) {
		if (!named->rows[i].is_whole)
			named->rows[i] = name_row(r, &rows[i], named, false);
		report_row(r, &rows[i], &named->rows[i], named, builder);
		serve_sometimes(r, i);
	}
	return n_named;
}

/* The caller frees the profile. */
static struct profile *make_profile(struct run *r)
{
	struct stackcount *t = r->own;
	cleanup(profile_builder_freep) struct profile_builder *builder = profile_builder_new();
	cleanup_free struct named_rows *named = xcalloc(1, sizeof(*named));
	size_t n;
	const struct store_row *rows = store_rows(t->store, &n);

	deferral_release(r); /* later hits belong to the next report */
	for (size_t i = 0; i < n;)
		i += name_some_rows(r, rows + i, n - i, named, builder);
	free(named->frames);
	return profile_builder_finish(builder, symbolizer_frames(t->symbolizer));
}

static void add_losses(struct run *r, struct profile *profile)
{
	const struct stackcount *t = r->own;
	const struct named_losses losses = run_losses(r, store_losses(t->store));

	for (int i = 0; i < LOSS_N; i++)
		profile_add_loss(profile, losses.of[i].reason, losses.of[i].n);
}

/* --- reports --- */

static void stackcount_warn_nameless(struct stackcount *t)
{
	const char *trouble = symbolizer_kernel_trouble(t->symbolizer);

	if (trouble && !t->was_trouble_told)
		log_warn("cannot name kernel functions: %s", trouble);
	t->was_trouble_told = t->was_trouble_told || trouble;
}

/*
 * Report the store's rows, and the losses since the last report. The rows are cleared before they
 * are printed, so hits that come while nobody reads belong to the next report.
 */
static int stackcount_print_report(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const struct options *opt = r->opt;
	cleanup(profile_freep) struct profile *profile = NULL;
	time_t now = time(NULL);
	struct tm local;
	char clock[16];
	struct render_style style = {
		.offsets = opt->offset,
		.addresses = opt->verbose,
		.delimited = opt->delimited && !opt->kernel_only && !opt->user_only,
		.per_process = is_per_process(opt),
	};

	if (opt->timestamp && strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &local)))
		style.time = clock;
	symbolizer_refresh(t->symbolizer);
	profile = make_profile(r);
	stackcount_warn_nameless(t);
	add_losses(r, profile);
	t->is_filling = t->is_filling || store_awaits_room(t->store);
	store_clear(t->store);
	symbolizer_trim(t->symbolizer);
	profile_choose(profile, opt->min_count, (size_t)opt->top);

	const int err = t->renderer->render(profile, &style, output_write, &r->output);

	if (!err && !t->renderer->shows_losses)
		output_warn_losses(profile->losses, profile->n_losses);
	return output_explain(err, e);
}

/* --- parts of a run --- */

static int stackcount_set_up(struct run *r, struct object_options *o, struct error *e)
{
	struct stackcount *t = r->own;
	struct trace_config *config = &o->config;

	(void)e;
	store_divide(r->opt->max_memory, r->n_cpus, &t->budget);
	o->max_rows = t->budget.max_rows;
	o->max_chunks = t->budget.max_chunks;
	config->n_hot_rows = t->budget.n_hot_rows;
	config->rows_to_notice = t->budget.max_rows / 8;
	if (!r->features.on_demand_maps && config->rows_to_notice > EARLY_ROWS)
		config->rows_to_notice = EARLY_ROWS;
	config->max_chunks = t->budget.max_chunks;
	config->chunks_to_notice = t->budget.max_chunks / 2;
	return 0;
}

static int open_store(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const bool shows_addresses = r->opt->verbose && t->renderer->shows_addresses;
	const bool shows_offsets = r->opt->offset && t->renderer->shows_offsets;
	const enum frame_identity identity = shows_addresses ? IDENTITY_ADDRESS
					     : shows_offsets ? IDENTITY_OFFSET
							     : IDENTITY_FUNCTION;

	(void)e;
	t->store = store_new(r->object, &t->budget, r->n_cpus);
	t->symbolizer = run_symbolizer(r, identity, r->opt->verbose);
	return 0;
}

static int stackcount_start(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;

	(void)e;
	store_start(t->store);
	return 0;
}

static int stackcount_put_header(struct run *r, struct error *e)
{
	const struct stackcount *t = r->own;

	return run_put_header(r, t->renderer->is_alone, e);
}

static struct symbolizer *stackcount_names(const struct run *r)
{
	const struct stackcount *t = r->own;

	return t->symbolizer;
}

static void stackcount_on_notice(struct run *r, const struct notice *notice)
{
	struct stackcount *t = r->own;

	t->is_filling = t->is_filling || notice->type == NOTICE_FILLING;
}

static int stackcount_on_wake(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;

	if (!t->is_filling)
		return 0;
	t->is_filling = false;
	object_add_level(r->object);
	return store_rotate(t->store, e);
}

static void stackcount_on_serve(struct run *r)
{
	struct stackcount *t = r->own;
	struct error e;

	if (t->is_filling && stackcount_on_wake(r, &e) != 0)
		t->is_filling = true;
}

static void stackcount_on_deferred(struct run *r, const struct recorded *recorded,
				   const uint64_t *words, size_t n)
{
	struct stackcount *t = r->own;
	uint64_t kernel[SHORT_WORDS];
	const struct store_hit hit = { .key = recorded->hit->key,
				       .time = recorded->hit->time,
				       .kernel = kernel,
				       .n_kernel = recorded_kernel_words(recorded, kernel),
				       .user = words,
				       .n_user = n };

	store_add(t->store, &hit);
}

/* A report waits for the walks of its deferred hits, but not for long: further hits come. */
#define WALKS_NS (3 * NS_PER_S / 10)

static int stackcount_on_interval(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;
	const uint32_t turn = object_state(r->object)->turn;
	int err = store_rotate(t->store, e);

	run_follow(r, UINT64_MAX); /* all records up to the last hit */
	deferral_settle(r, turn, WALKS_NS);
	return err ? err : stackcount_print_report(r, e);
}

static int stackcount_stop(struct run *r, struct error *e)
{
	struct stackcount *t = r->own;

	return store_stop(t->store, e);
}

static int stackcount_put_last_line(struct run *r, struct error *e)
{
	const struct stackcount *t = r->own;

	return t->renderer->is_alone ? 0 : output_put(&r->output, "Detaching...\n", 13, e);
}

static void close_store(struct run *r)
{
	struct stackcount *t = r->own;

	symbolizer_free(t->symbolizer);
	store_free(t->store);
}

static const struct renderer *renderer_of(const struct options *opt)
{
	return renderer_find(opt->folded ? "folded" : "text");
}

int count_stacks(const struct options *opt, struct error *e)
{
	static const struct tool_parts tool = {
		.set_up = stackcount_set_up,
		.open = open_store,
		.start = stackcount_start,
		.put_header = stackcount_put_header,
		.names = stackcount_names,
		.on_notice = stackcount_on_notice,
		.on_wake = stackcount_on_wake,
		.on_deferred = stackcount_on_deferred,
		.on_serve = stackcount_on_serve,
		.on_interval = stackcount_on_interval,
		.stop = stackcount_stop,
		.report = stackcount_print_report,
		.put_last_line = stackcount_put_last_line,
		.close = close_store,
	};
	struct stackcount own = { .renderer = renderer_of(opt) };

	return run_tool(&tool, &own, opt, e);
}
