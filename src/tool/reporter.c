#include "tool/reporter.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "report/render.h"

/*
 * A reader may be slow, and gets all of the report that a signal asks for; or it has stopped
 * reading, and then the next signal ends the run all the same.
 */
static bool is_second_signal(struct reporter *r)
{
	bool was_asked = r->must_end;

	r->must_end = waiter_take_signals(r->waiter) || r->must_end;
	return was_asked;
}

/* What poll(2) calls writable takes *@n bytes without waiting. */
static int wait_for_reader(struct reporter *r, size_t *n)
{
	struct pollfd fds[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
				{ .fd = r->waiter->signals, .events = POLLIN } };

	if (r->is_file)
		return 0;
	if (*n > PIPE_BUF)
		*n = PIPE_BUF;
	while (!fds[0].revents) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return -errno;
		if (!fds[0].revents && fds[1].revents && is_second_signal(r))
			return -EINTR;
	}
	return 0;
}

static int write_all(void *context, const char *bytes, size_t n)
{
	struct reporter *r = context;

	while (n > 0 && !r->has_no_reader) {
		size_t part = n;
		int err = wait_for_reader(r, &part);

		if (err)
			return err;

		ssize_t done = write(STDOUT_FILENO, bytes, part);

		if (done < 0 && errno == EPIPE)
			r->has_no_reader = true;
		else if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int explain(int err, struct error *e)
{
	if (err == -EINTR)
		return error_set(e, err, "a signal ended the report: nobody read it");
	return err ? error_set(e, err, "write to standard output: %s", strerror(-err)) : 0;
}

int reporter_put(struct reporter *r, const char *bytes, size_t n, struct error *e)
{
	return explain(write_all(r, bytes, n), e);
}

/* --- rows to entries --- */

static const char *mark_text(uint64_t mark)
{
	switch (mark) {
	case STACK_MARK_DEPTH:
		return "depth";
	case STACK_MARK_UNREADABLE:
		return "unreadable page";
	default:
		return "not given by this kernel";
	}
}

/*
 * The tracing's own frames are at the top of a kernel stack: all of those before
 * the first other frame, and those behind the traced function where it was put in
 * front of them (bpf/stackcount.bpf.c). Returns how many frames are left.
 */
static uint32_t trim_machinery(const struct frame_table *table, uint32_t *frames, uint32_t n)
{
	uint32_t first = 0, kept = 0, next;

	while (first < n && table->frames[frames[first]].is_machinery)
		first++;
	if (first == n)
		return n; /* nothing else: then that is what there is */
	frames[kept++] = frames[first];
	next = first + 1;
	while (first == 0 && next < n && table->frames[frames[next]].is_machinery)
		next++;
	while (next < n)
		frames[kept++] = frames[next++];
	return kept;
}

static uint32_t cut_depth(const struct options *opt, uint32_t n)
{
	return opt->max_depth && n > opt->max_depth ? (uint32_t)opt->max_depth : n;
}

static uint32_t put_kernel(struct reporter *r, const struct store_row *row, uint32_t *frames)
{
	uint64_t words[STACK_WORDS];
	size_t n = store_stack(r->store, row->kernel_stack, words);

	for (size_t i = 0; i < n; i++) {
		bool is_exact = i == 0 && (row->flags & KEY_KERNEL_PC_EXACT);

		if (words[i] < STACK_MARK_END)
			frames[i] = symbolize_cut(r->symbolizer, mark_text(words[i]));
		else
			frames[i] = symbolize_kernel(r->symbolizer, words[i], is_exact);
	}
	return cut_depth(r->options,
			 trim_machinery(symbolizer_frames(r->symbolizer), frames, (uint32_t)n));
}

static uint32_t put_user(struct reporter *r, const struct store_row *row, uint32_t *frames)
{
	uint64_t words[STACK_WORDS];
	size_t n = store_stack(r->store, row->user_stack, words);

	for (size_t i = 0; i < n; i++) {
		bool is_exact = i == 0 && (row->flags & KEY_USER_PC_EXACT);

		if (words[i] < STACK_MARK_END)
			frames[i] = symbolize_cut(r->symbolizer, mark_text(words[i]));
		else
			frames[i] = symbolize_user(r->symbolizer, row->tgid, words[i], is_exact);
	}
	return cut_depth(r->options, (uint32_t)n);
}

static bool is_per_process(const struct options *opt)
{
	return opt->per_process || opt->pids.n > 1;
}

static void collect(struct reporter *r, struct report *report)
{
	size_t n;
	const struct store_row *rows = store_rows(r->store, &n);
	bool per_process = is_per_process(r->options);

	for (size_t i = 0; i < n; i++) {
		uint32_t frames[2 * STACK_WORDS];
		struct report_entry entry = { .count = rows[i].count, .frames = frames };

		entry.n_kernel = put_kernel(r, &rows[i], frames);
		entry.n_user = put_user(r, &rows[i], frames + entry.n_kernel);
		if (per_process) {
			entry.pid = rows[i].tgid;
			entry.comm = symbolizer_comm(r->symbolizer, rows[i].tgid);
		}
		report_add(report, &entry);
	}
	report_finish(report, r->options->min_count, (size_t)r->options->top);
}

/* --- losses --- */

static int put_losses(struct reporter *r, struct error *e)
{
	uint64_t counts[LOSS_N];
	struct render_loss losses[LOSS_N];
	uint64_t missed = attachment_missed(r->attachment);
	cleanup_strbuf struct strbuf line = {};

	store_losses(r->store, counts);
	counts[LOSS_MISSED] = missed - r->missed_before;
	r->missed_before = missed;
	for (int i = 0; i < LOSS_N; i++)
		losses[i] = (struct render_loss){ loss_text((enum loss)i), counts[i] };
	render_losses(losses, LOSS_N, &line);
	if (!line.n)
		return 0;
	if (!r->options->folded)
		return reporter_put(r, line.text, line.n, e);
	log_warn("%.*s", (int)strcspn(line.text, "\n"), line.text);
	return 0;
}

static void tell_trouble(struct reporter *r)
{
	const char *trouble = symbolizer_kernel_trouble(r->symbolizer);

	if (trouble && !r->was_trouble_told)
		log_warn("kernel functions have no names: %s", trouble);
	r->was_trouble_told = r->was_trouble_told || trouble;
}

int reporter_print(struct reporter *r, struct error *e)
{
	const struct options *opt = r->options;
	cleanup(report_freep) struct report *report = report_new();
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
	symbolizer_refresh(r->symbolizer);
	collect(r, report);
	tell_trouble(r);

	const struct frame_table *frames = symbolizer_frames(r->symbolizer);
	int err = opt->folded ? render_folded(report, frames, &style, write_all, r)
			      : render_text(report, frames, &style, write_all, r);
	if (err)
		return explain(err, e);
	err = put_losses(r, e);
	store_clear(r->store);
	return err;
}
