/*
 * The whole flow, in the order of the data:
 *
 *	patterns -> targets -> plan -> programs and maps -> links -> rows -> report
 *
 * Everything that lives during a run is owned here.
 */
#include "tool/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "match/match.h"
#include "report/escape.h"
#include "store/notices.h"
#include "tool/reporter.h"
#include "tool/setup.h"
#include "tool/wait.h"

#define MOST_TARGETS 200000
#define MANY_EVENTS 100 /* perf events: see attach/detach.c */
#define CLOSING_MS 50   /* 40 to 120 each */

struct run {
	const struct options *opt;
	struct host *host;
	struct target_list targets;
	struct features features;
	struct plan plan;
	struct store_budget budget;
	uint32_t n_cpus;
	struct command command;
	struct object *object;
	struct attachment *follower;
	struct attachment *attachment;
	struct notices *notices;
	struct store *store;
	struct symbolizer *symbolizer;
	struct waiter waiter;
	struct reporter reporter;
	bool is_filling; /* the programs say that the maps fill up */
	bool is_enough;  /* they say that --events is reached */
};

static void run_fini(struct run *r)
{
	waiter_close(&r->waiter);
	symbolizer_free(r->symbolizer);
	store_free(r->store);
	notices_close(r->notices);
	attachment_free(r->attachment);
	attachment_free(r->follower);
	command_fini(&r->command);
	object_free(r->object);
	plan_fini(&r->plan);
	target_list_fini(&r->targets);
	host_free(r->host);
}

/* --- patterns to targets --- */

/* A user function has no kernel stack: with -K there would be nothing to show. */
int check_patterns(const struct options *opt, struct error *e)
{
	bool has_kernel_stack = false;

	for (size_t i = 0; i < opt->n_patterns; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		int err = probe_spec_parse(opt->patterns[i], opt->regexp, &spec, e);

		if (err)
			return err;
		has_kernel_stack |=
			spec.kind == PROBE_KERNEL_FUNCTION || spec.kind == PROBE_TRACEPOINT;
	}
	if (opt->kernel_only && !has_kernel_stack)
		return error_set(e, -EINVAL, "-K: there is no kernel stack at '%s'",
				 opt->patterns[0]);
	return 0;
}

static int match_all(const struct options *opt, struct host *host, enum match_depth depth,
		     struct target_list *targets, struct error *e)
{
	struct match_scope scope = { opt->pids.numbers, opt->pids.n, MOST_TARGETS, depth };
	int err = 0;

	for (size_t i = 0; i < opt->n_patterns && !err; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};

		err = probe_spec_parse(opt->patterns[i], opt->regexp, &spec, e);
		if (!err)
			err = match_targets(&spec, host, &scope, targets, e);
	}
	return err;
}

/* As a pattern that means it. Its names come from foreign files. */
static void put_target(const struct target *t, struct strbuf *to)
{
	cleanup_strbuf struct strbuf raw = {};

	switch (t->kind) {
	case TARGET_TRACEPOINT:
		strbuf_printf(&raw, "t:%s:%s", t->category, t->event);
		break;
	case TARGET_USER_FUNCTION:
		strbuf_printf(&raw, "%s:%s", t->path, t->name);
		break;
	case TARGET_USDT:
		strbuf_printf(&raw, "u:%s:%s", t->path, t->name);
		break;
	default:
		strbuf_puts(&raw, t->name);
		if (t->module)
			strbuf_printf(&raw, " [%s]", t->module);
	}
	escape_put(to, raw.text, false);
}

static void print_target(const struct target *t)
{
	cleanup_strbuf struct strbuf text = {};

	put_target(t, &text);
	(void)puts(text.text);
}

int list_targets(const struct options *opt, struct error *e)
{
	cleanup(host_freep) struct host *host = host_new();
	cleanup(target_list_fini) struct target_list targets = {};
	int err = match_all(opt, host, MATCH_NAMES, &targets, e);

	for (size_t i = 0; !err && i < targets.n; i++)
		print_target(&targets.targets[i]);
	return err;
}

/* --- targets to links --- */

/* Once more, with addresses. */
static int plan_again(struct run *r, enum match_depth depth, unsigned avoid, struct error *e)
{
	target_list_fini(&r->targets);
	plan_fini(&r->plan);

	int err = match_all(r->opt, r->host, depth, &r->targets, e);

	return err ? err : plan_make(&r->targets, &r->features, avoid, &r->plan, e);
}

static int make_plan(struct run *r, struct error *e)
{
	setup_features(&r->features, FEATURES_ALWAYS | plan_needs_features(&r->targets));

	int err = plan_make(&r->targets, &r->features, r->opt->avoid, &r->plan, e);

	if (!err && plan_wants_addresses(&r->plan, &r->targets))
		err = plan_again(r, MATCH_NAMESAKES, r->opt->avoid, e);
	return err;
}

static int load(struct run *r, struct error *e)
{
	struct object_options options;
	int err = host_possible_cpus(&r->n_cpus, e);

	if (err)
		return err;
	store_divide(r->opt->max_memory, r->n_cpus, &r->budget);

	struct setup setup = {
		.options = r->opt,
		.plan = &r->plan,
		.features = &r->features,
		.budget = &r->budget,
		.n_cpus = r->n_cpus,
		.command_tgid = (uint32_t)r->command.pid,
	};

	err = setup_object(&setup, r->host, &options, e);
	if (err)
		return err;
	err = object_load(&options, &r->features, &r->object, e);
	if (err)
		return setup_explain_load(r->command.pid != 0, e);
	if (r->opt->pids.n > 1)
		err = object_set_tgids(r->object, r->opt->pids.numbers, r->opt->pids.n, e);
	return err;
}

static int attach_follow(struct run *r, struct error *e)
{
	static const char *const events[] = { "sched_process_fork", "sched_process_exec",
					      "sched_process_exit" };
	uint64_t ids[ARRAY_SIZE(events)];

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		int err = host_tracepoint_id(r->host, "sched", events[i], &ids[i], e);

		if (err)
			return err;
	}
	return attach_follower(r->object, &r->features, ids, &r->follower, e);
}

/* What the user must know of single refusals: how many; with --debug, which and why. */
static void tell_refusals(const struct run *r)
{
	size_t n = attachment_n_refused(r->attachment);

	for (size_t i = 0; i < n; i++) {
		const struct refusal *refusal = attachment_refused(r->attachment, i);

		log_debug("refused: %s: %s", refusal->target->name, refusal->reason);
	}
	if (n)
		log_warn("%zu of %zu could not be traced%s", n, r->targets.n,
			 log_level() < LOG_DEBUG ? " (--debug lists them)" : "");
}

static void tell_many_events(size_t n)
{
	if (n > MANY_EVENTS)
		log_warn("%zu probes need an event each: the kernel may take %zu s to take them "
			 "away, when all is done",
			 n, n * CLOSING_MS / 1000);
}

static void tell_plan(const struct run *r)
{
	size_t n[BACKEND_N] = {};

	for (size_t i = 0; i < r->plan.n; i++)
		n[r->plan.backends[i]]++;
	for (int b = 0; b < BACKEND_N; b++)
		if (n[b])
			log_debug("%zu by %s", n[b], backend_name((enum backend)b));
	tell_many_events(n[BACKEND_UPROBE] + n[BACKEND_KPROBE] + n[BACKEND_TRACEPOINT]);
	for (size_t i = 0; i < r->targets.n; i++) {
		cleanup_strbuf struct strbuf text = {};

		put_target(&r->targets.targets[i], &text);
		log_debug("matched: %s", text.text);
	}
}

/*
 * A kernel function asked for by its full name is not looked up before the kernel is
 * asked (its lists are long). What it does not know is an error, as for every other kind.
 * @name: the function, or NULL for the first that was asked for.
 */
static int explain_unknown(const struct run *r, const char *name, struct error *e)
{
	for (size_t i = 0; i < r->opt->n_patterns; i++) {
		cleanup(probe_spec_fini) struct probe_spec spec = {};
		int err = probe_spec_parse(r->opt->patterns[i], r->opt->regexp, &spec, e);

		if (err)
			return err;

		const char *literal = pattern_literal(spec.name);

		if (spec.kind == PROBE_KERNEL_FUNCTION && literal &&
		    (!name || strcmp(name, literal) == 0))
			return match_explain_unknown(&spec, r->host, e);
	}
	return name ? 0 : e->code;
}

static int check_refusals(const struct run *r, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < attachment_n_refused(r->attachment) && !err; i++) {
		const struct refusal *refusal = attachment_refused(r->attachment, i);

		if (refusal->code == -ENOENT && refusal->target->kind == TARGET_KERNEL_FUNCTION)
			err = explain_unknown(r, refusal->target->name, e);
	}
	return err;
}

static bool is_ambiguous(const struct run *r, int err)
{
	if (!r->attachment)
		return err == -EADDRNOTAVAIL;
	for (size_t i = 0; i < attachment_n_refused(r->attachment); i++)
		if (attachment_refused(r->attachment, i)->code == -EADDRNOTAVAIL)
			return true;
	return false;
}

static int attach(struct run *r, struct error *e)
{
	struct attach_scope scope = { r->opt->pids.numbers, r->opt->pids.n };
	int err = 0;

	if (r->command.pid)
		err = attach_follow(r, e);
	if (!err)
		err = attach_all(&r->targets, &r->plan, r->object, &scope, &r->attachment, e);
	if (is_ambiguous(r, err)) {
		/* Several functions have the name; the programs that are loaded stay. */
		attachment_freep(&r->attachment);
		err = plan_again(r, MATCH_ADDRESSES, r->opt->avoid | 1U << BACKEND_KPROBE_MULTI, e);
		if (!err)
			err = attach_all(&r->targets, &r->plan, r->object, &scope, &r->attachment,
					 e);
	}
	if (err == -ENOENT)
		return explain_unknown(r, NULL, e);
	if (!err)
		err = check_refusals(r, e);
	if (!err)
		tell_refusals(r);
	return err;
}

/* --- counting --- */

static int put_header(struct run *r, struct error *e)
{
	cleanup_strbuf struct strbuf text = {};

	strbuf_printf(&text, "Tracing %zu functions for ", attachment_n_attached(r->attachment));
	for (size_t i = 0; i < r->opt->n_patterns; i++) {
		strbuf_puts(&text, i ? ", \"" : "\"");
		escape_put(&text, r->opt->patterns[i], false);
		strbuf_puts(&text, "\"");
	}
	strbuf_puts(&text, "... Hit Ctrl-C to end.\n");
	if (!r->opt->folded)
		return reporter_put(&r->reporter, text.text, text.n, e);
	(void)fputs(text.text, stderr);
	return 0;
}

static void take_notice(void *context, const struct notice *notice)
{
	struct run *r = context;

	if (notice->type == NOTICE_PROCESS)
		symbolizer_process(r->symbolizer, notice->tgid, notice->comm);
	r->is_filling = r->is_filling || notice->type == NOTICE_FILLING;
	r->is_enough = r->is_enough || notice->type == NOTICE_ENOUGH;
}

/* One round: wait, and do what is to be done. *@is_over: the run ends. */
static int count_round(struct run *r, bool *is_over, struct error *e)
{
	unsigned occasions;
	int err = waiter_wait(&r->waiter, &occasions, e);

	if (err)
		return err;
	if (occasions & OCCASION_NOTICE)
		notices_read(r->notices, take_notice, r);
	*is_over = r->is_enough || occasions & (OCCASION_TIME_IS_UP | OCCASION_SIGNAL |
						OCCASION_COMMAND_ENDED | OCCASION_NO_READER);
	r->reporter.must_end = occasions & OCCASION_SIGNAL;
	if (*is_over)
		return 0;
	if (r->is_filling || occasions & OCCASION_INTERVAL) {
		if (r->is_filling)
			object_add_level(r->object);
		r->is_filling = false;
		err = store_rotate(r->store, e);
	}
	if (!err && occasions & OCCASION_INTERVAL)
		err = reporter_print(&r->reporter, e);
	*is_over = r->reporter.must_end;
	return err;
}

static int count_until_over(struct run *r, struct error *e)
{
	bool is_over = false;
	int err = 0;

	while (!err && !is_over)
		err = count_round(r, &is_over, e);
	if (!err)
		err = store_stop(r->store, e);
	notices_read(r->notices, take_notice, r);
	return err;
}

static void tell_command(struct run *r)
{
	cleanup_strbuf struct strbuf text = {};

	if (!r->opt->command)
		return;
	(void)command_has_ended(&r->command);
	command_describe(&r->command, &text);
	log_warn("%s", text.text);
}

/* The last report stands before the probes are taken away: that may take its time. */
static int finish(struct run *r, struct error *e)
{
	int err = reporter_print(&r->reporter, e);

	if (r->opt->debug)
		object_describe(r->object);
	tell_command(r);
	if (!err && !r->opt->folded)
		err = reporter_put(&r->reporter, "Detaching...\n", 13, e);
	waiter_release_signals(&r->waiter);
	attachment_freep(&r->attachment);
	return err;
}

static bool is_regular_output(void)
{
	struct stat st;

	return fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

static int run_command(struct run *r, struct error *e)
{
	int err = command_exec(&r->command, e);

	if (err)
		return err;
	symbolizer_process(r->symbolizer, (uint32_t)r->command.pid, r->command.name);
	command_let_go(&r->command);
	return 0;
}

static int start(struct run *r, struct error *e)
{
	const struct options *opt = r->opt;
	int err = notices_open(r->object, &r->notices, e);

	if (err)
		return err;
	r->store = store_new(r->object, &r->budget, r->n_cpus);
	r->symbolizer = symbolizer_new(r->host, opt->verbose  ? IDENTITY_ADDRESS
						: opt->offset ? IDENTITY_OFFSET
							      : IDENTITY_FUNCTION);
	r->reporter = (struct reporter){ .options = opt,
					 .store = r->store,
					 .symbolizer = r->symbolizer,
					 .attachment = r->attachment,
					 .waiter = &r->waiter,
					 .is_file = is_regular_output() };
	err = waiter_start(&r->waiter, opt->interval_ns, opt->duration_ns, r->notices, &r->command,
			   e);
	if (err)
		return err;
	store_start(r->store);
	err = put_header(r, e);
	if (!err && r->command.pid)
		err = run_command(r, e);
	if (!err && r->features.on_demand_maps)
		object_add_level(r->object);
	return err;
}

static int prepare(struct run *r, struct error *e)
{
	const char *missing = host_missing_capability();

	if (missing)
		return error_set(e, -EPERM,
				 "tracing needs root, or CAP_BPF and CAP_PERFMON: %s is missing",
				 missing);

	int err = setup_check(r->opt, e);

	if (!err)
		err = match_all(r->opt, r->host, MATCH_PATTERNS, &r->targets, e);
	if (!err)
		err = make_plan(r, e);
	if (!err)
		tell_plan(r);
	return err;
}

/*
 * Many probes are many descriptors; and on a machine that is busy with what is being
 * counted, the maps must still be emptied in time. A command was made before, so that it
 * inherits neither.
 */
static void ask_for_resources(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)setpriority(PRIO_PROCESS, 0, -20);
}

int count_stacks(const struct options *opt, struct error *e)
{
	cleanup(run_fini) struct run r = {
		.opt = opt,
		.host = host_new(),
		.command = COMMAND_NONE,
		.waiter = WAITER_NONE,
	};
	int err = prepare(&r, e);

	if (!err && opt->command)
		err = command_hold(opt->command, &r.command, e);
	ask_for_resources();
	if (!err)
		err = waiter_open(&r.waiter, e);
	if (!err)
		err = load(&r, e);
	if (!err)
		err = attach(&r, e);
	if (!err)
		err = start(&r, e);
	if (!err)
		err = count_until_over(&r, e);
	if (!err)
		err = finish(&r, e);
	return err;
}
