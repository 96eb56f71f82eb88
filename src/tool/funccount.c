// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <errno.h>

#include "base/memory.h"
#include "match/target.h"
#include "report/render_calls.h"

#define MIB (1ULL << 20)

struct funccount {
	struct calls *calls;
	struct target_names names;
};

/* --- reports --- */

/* Make a row for each name, the sum of its targets; *@total: of all. The caller frees the rows. */
static struct call_row *add_up_calls(const struct run *r, uint64_t *total)
{
	const struct funccount *t = r->own;
	const uint64_t *counts = calls_read(t->calls);
	struct call_row *rows = xcalloc(t->names.n + 1, sizeof(*rows));

	*total = 0;
	for (size_t i = 0; i < t->names.n; i++)
		rows[i].name = t->names.names[i];
	for (size_t i = 0; i < r->targets.n; i++) {
		rows[t->names.rows[i]].count += counts[i];
		*total += counts[i];
	}
	return rows;
}

/* Print the counts since the last report. */
static int funccount_print_report(struct run *r, struct error *e)
{
	struct funccount *t = r->own;
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	const time_t second = (time_t)(now / NS_PER_S);
	struct profile_loss losses[LOSS_N];
	struct call_report report = {
		.losses = losses, .n_losses = LOSS_N, .time_ns = now, .has_total = r->opt->verbose
	};
	cleanup_free struct call_row *rows = add_up_calls(r, &report.total);
	struct tm local;
	char clock[16];

	report.rows = rows;
	report.n = call_rows_choose(rows, t->names.n, r->opt->min_count, r->opt->top);
	run_losses(r, calls_losses(t->calls), losses);
	losses_reported(calls_losses(t->calls));
	if (r->opt->timestamp &&
	    strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&second, &local)))
		report.time = clock;
	return output_explain(&r->output,
			      (r->opt->json ? render_calls_json
					    : render_calls_text)(&report, output_write, &r->output),
			      e);
}

/* --- parts of a run --- */

static int funccount_set_up(struct run *r, struct object_options *o, struct error *e)
{
	const uint64_t bytes = calls_bytes(r->targets.n, r->n_cpus);
	struct funccount *t = r->own;
	struct trace_config *config = &o->config;

	if (bytes > r->opt->max_memory)
		return error_set(e, -E2BIG,
				 "counting %zu functions on %u CPUs needs --max-memory %lluM (or "
				 "trace fewer functions)",
				 r->targets.n, r->n_cpus,
				 (unsigned long long)((bytes + MIB - 1) / MIB));
	/* Make names now: once libc's functions are probed, each call takes a microsecond. */
	target_names_fini(&t->names);
	target_names_make(&r->targets, &t->names);
	config->mode = MODE_CALLS;
	config->calls_per_cpu = calls_per_cpu((uint32_t)r->targets.n);
	config->max_kernel_frames = config->max_user_frames = 0;
	config->per_process = 0;
	return 0;
}

static void open_calls(struct run *r)
{
	struct funccount *t = r->own;

	t->calls = calls_new(r->object, r->targets.n, r->n_cpus);
}

static void funccount_start(struct run *r)
{
	struct funccount *t = r->own;

	calls_start(t->calls);
}

static int funccount_put_header(struct run *r, struct error *e)
{
	r->tells_end = !r->opt->json;
	return run_put_header(r, r->opt->json, e);
}

static int funccount_stop(struct run *r, struct error *e)
{
	struct funccount *t = r->own;

	return calls_stop(t->calls, e);
}

static void close_calls(struct run *r)
{
	struct funccount *t = r->own;

	calls_free(t->calls);
	target_names_fini(&t->names);
}

int count_functions(const struct options *opt, struct error *e)
{
	static const struct tool_parts parts = {
		.counts_targets = true,
		.set_up = funccount_set_up,
		.open = open_calls,
		.start = funccount_start,
		.put_header = funccount_put_header,
		.on_interval = funccount_print_report,
		.stop = funccount_stop,
		.report = funccount_print_report,
		.close = close_calls,
	};
	struct funccount own = {};

	return run_tool(&parts, &own, opt, e);
}
