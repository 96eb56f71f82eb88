// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events with equal stacks of one process share a template, the text of their frames. So an event
 * costs little more than its head: time, command, PID and CPU (report/event.h).
 */
#include "tool/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/event.h"
#include "store/stream.h"

/* Read events this often while they come. After this many readings without any, sleep. */
#define READ_NS (NS_PER_S / 500)
#define EMPTY_READS 16

/*
 * The pending events may take seconds to print and, with --lines, to read. After a signal, those
 * are dropped that are not printed in this time.
 */
#define LAST_NS (NS_PER_S / 4)

/* --- the time of an event --- */

#define EVENT_TIME_SIZE 32
#define EVENT_NUMBER_SIZE 24

enum event_time_form {
	EVENT_TIME_MONOTONIC,  /* 42005557.056332998 */
	EVENT_TIME_SINCE_1970, /* 1795269282.000000001 */
	EVENT_TIME_OF_DAY,     /* 14:02:11.056332998 */
};

/* Zeroed, it writes times as EVENT_TIME_MONOTONIC. */
struct event_clock {
	enum event_time_form form;
	uint64_t difference_ns; /* the time of day minus CLOCK_MONOTONIC; 0 if that is shown */
	time_t second;          /* the time in @clock */
	char clock[16];
};

/* A smaller change of the difference is an error of measurement, and no step of the time of day. */
#define STEP_NS 1000000

/*
 * Measure the difference of the clocks as exactly as possible. Both run at one rate, so only a step
 * of the time of day changes it. If each measurement counted, its error would put events out of
 * order.
 */
static void follow_clock(struct event_clock *c)
{
	uint64_t least = UINT64_MAX, found = 0;

	for (int i = 0; i < 8 && c->form != EVENT_TIME_MONOTONIC; i++) {
		const uint64_t before = clock_ns(CLOCK_MONOTONIC);
		const uint64_t realtime = clock_ns(CLOCK_REALTIME);
		const uint64_t error = clock_ns(CLOCK_MONOTONIC) - before;

		if (error < least)
			found = realtime - before - error / 2;
		least = earlier_time(error, least);
	}
	if (llabs((int64_t)(found - c->difference_ns)) > STEP_NS)
		c->difference_ns = found;
}

static char *put_seconds(char to[EVENT_TIME_SIZE], uint64_t ns)
{
	char *at = to + EVENT_TIME_SIZE - 1;
	uint32_t rest = (uint32_t)(ns % NS_PER_S);

	*at = '\0';
	for (int i = 0; i < 9; i++, rest /= 10)
		*--at = (char)('0' + rest % 10);
	*--at = '.';
	return put_decimal(at, ns / NS_PER_S);
}

/* Write @ns of CLOCK_MONOTONIC up to the end of @to. Returns its beginning. */
static const char *event_time_text(struct event_clock *c, uint64_t ns, char to[EVENT_TIME_SIZE])
{
	const uint64_t shown = ns + c->difference_ns;
	const time_t second = (time_t)(shown / NS_PER_S);
	struct tm local;

	if (c->form != EVENT_TIME_OF_DAY)
		return put_seconds(to, shown);
	if (second != c->second || !c->clock[0]) {
		if (!strftime(c->clock, sizeof(c->clock), "%H:%M:%S", localtime_r(&second, &local)))
			c->clock[0] = '\0';
		c->second = second;
	}
	return memcpy(put_seconds(to, shown % NS_PER_S) - 7, c->clock, 8); /* over the digit */
}

/* --- the tool --- */

/* The shared part of events with equal stacks of one process (report/event.h). */
struct template
{
	size_t at; /* in stacksnoop.text */
	uint32_t n;
	uint64_t made; /* ns of CLOCK_MONOTONIC */
	uint64_t sure; /* ns: its frames have the same names for so long */
};

/* The stack of a deferred hit, until its event comes. */
struct late_stack {
	uint64_t number; /* of the deferred hit */
	uint64_t hash;   /* of its stack */
};

struct stacksnoop {
	struct stream_budget budget;
	struct stream *stream;
	struct writer writer;
	struct event_style style;

	struct u64_map known; /* hash of stacks and process -> template */
	struct template *templates;
	size_t n_templates, template_capacity;
	struct strbuf text;

	uint64_t now; /* ns of CLOCK_MONOTONIC: when the reading of events began */
	struct event_clock clock;
	struct late_stack *late;
	size_t n_late, late_capacity;
	uint64_t n_valueless;     /* events without a value */
	uint64_t refreshed, told; /* ns: when it was done last */
	uint64_t n_told;          /* losses in the last message */
	uint64_t n_events;        /* printed, or in @writer */
	uint64_t n_written;       /* printed for certain */
	uint64_t end_by;          /* ns: then it is too late to print; 0: no signal has come */
	uint64_t n_unprinted;     /* events dropped because it is too late */
	unsigned n_empty_reads;
};

/* --- templates --- */

#define JIT_NS (NS_PER_S / 4)

/*
 * How long has a frame its name for sure? Other code may come to its address. Modules are looked
 * for once a second, and so are names that were missing. A compiler replaces its code at any time.
 * A BPF program may go, and another one take its place: 0, this reading of events.
 */
static uint64_t sure_ns_of(const struct frame *frame)
{
	if (frame->kind == FRAME_KERNEL && text_is_same(frame->module, "bpf"))
		return 0;
	if (frame->is_jit)
		return JIT_NS;
	return !frame->name || (frame->kind == FRAME_KERNEL && frame->module) ? NS_PER_S
									      : UINT64_MAX;
}

/* Most templates that are made anew have the same text, which is kept then. */
static void put_template(struct stacksnoop *t, const struct frame_table *table,
			 const struct profile_stack *stack, struct template *ret)
{
	const size_t at = t->text.n;

	event_put_template(&t->text, &t->style, table, stack);

	const uint32_t n = (uint32_t)(t->text.n - at);

	if (ret->n == n && memcmp(t->text.text + ret->at, t->text.text + at, n) == 0) {
		t->text.n = at;
		return;
	}
	ret->at = at;
	ret->n = n;
}

static void make_template(struct run *r, const struct stream_event *event, struct template *ret)
{
	struct stacksnoop *t = r->own;
	uint64_t words[STACK_WORDS];
	uint32_t frames[STACK_WORDS + USER_FRAMES];
	struct raw_stack raw = { words, 0, event->flags, event->tgid, event->time };
	struct profile_stack stack = { .frames = frames };

	raw.n = stream_stack(t->stream, event->kernel_stack, words);
	stack.n_kernel = name_kernel_stack(r->symbolizer, &raw, r->opt->max_depth, frames);
	raw.n = stream_stack(t->stream, event->user_stack, words);
	stack.n_user =
		name_user_stack(r->symbolizer, &raw, r->opt->max_depth, frames + stack.n_kernel);

	const struct frame_table *table = symbolizer_frames(r->symbolizer);

	put_template(t, table, &stack, ret);
	ret->made = t->now;
	ret->sure = UINT64_MAX;
	for (uint32_t i = 0; i < stack.n_kernel + stack.n_user; i++)
		ret->sure = earlier_time(ret->sure, sure_ns_of(&table->frames[frames[i]]));
}

static uint64_t template_key(const struct run *r, const struct stream_event *event)
{
	uint64_t process = (uint64_t)event->tgid << 32 | event->flags, epoch = 0;

	if (event->user_stack)
		epoch = processes_epoch(r->processes,
					process_key(event->tgid, event->flags >> KEY_LIFE_SHIFT),
					event->time);
	return hash_mix(event->kernel_stack ^
			hash_mix(event->user_stack ^ hash_mix(process ^ hash_mix(epoch))));
}

static const struct template *find_template(struct run *r, const struct stream_event *event)
{
	struct stacksnoop *t = r->own;
	bool is_new;
	const uint32_t *number =
		u64_map_put(&t->known, template_key(r, event), (uint32_t)t->n_templates, &is_new);
	struct template *template;

	if (is_new)
		array_push(t->templates, t->n_templates, t->template_capacity, (struct template){});
	template = &t->templates[*number];
	if (is_new || t->now - template->made > template->sure) {
		if (event->user_stack) /* the notice of its process may not be read yet */
			processes_look(r->processes, event->tgid);
		make_template(r, event, template);
	}
	return template;
}

/* --- events --- */

/* Is it too late to print an event? */
static bool is_too_late(struct run *r)
{
	struct stacksnoop *t = r->own;

	if (!t->end_by && ending_has_signal(r))
		t->end_by = clock_ns(CLOCK_MONOTONIC) + LAST_NS;
	return t->end_by && clock_ns(CLOCK_MONOTONIC) > t->end_by;
}

/* The digits of the event's value; NULL: it has none. */
static const char *put_event_value(struct run *r, const struct valued_event *event,
				   char to[EVENT_NUMBER_SIZE])
{
	struct stacksnoop *t = r->own;

	if (!t->budget.has_value)
		return NULL;
	if (event->event.state & EVENT_NO_VALUE) {
		t->n_valueless++;
		return NULL;
	}
	if (r->value_code.is_unsigned)
		(void)snprintf(to, EVENT_NUMBER_SIZE, "%" PRIu64, (uint64_t)event->value);
	else
		(void)snprintf(to, EVENT_NUMBER_SIZE, "%" PRId64, (int64_t)event->value);
	return to;
}

static int print_event(void *context, const struct valued_event *valued, uint32_t cpu)
{
	const struct stream_event *event = &valued->event;
	struct run *r = context;
	struct stacksnoop *t = r->own;
	const struct template *template;
	char time[EVENT_TIME_SIZE], value[EVENT_NUMBER_SIZE], comm[sizeof(event->comm) + 1];
	struct event_head head = {
		.comm = comm, .pid = event->tgid, .tid = event->tid, .cpu = cpu
	};

	/* Old kernels may count one more on each CPU (is_below_limit() of bpf/filter.bpf.h). */
	if (r->opt->max_events && t->n_events == r->opt->max_events)
		return 0;
	if (is_too_late(r)) {
		t->n_unprinted++;
		return 0;
	}
	if (t->now - t->refreshed >= NS_PER_S) { /* processes and modules may have changed */
		t->refreshed = t->now;
		run_refresh(r);
	}
	t->n_events++;
	template = find_template(r, event);
	memcpy(comm, event->comm, sizeof(event->comm));
	comm[sizeof(event->comm)] = '\0';
	head.time = event_time_text(&t->clock, event->time, time);
	head.value = put_event_value(r, valued, value);
	t->n_empty_reads = 0;
	if (event_render(&t->writer, &t->style, &head, t->text.text + template->at, template->n) &&
	    !t->writer.text.n)
		t->n_written = t->n_events;
	return t->writer.result;
}

static void warn_of_losses(struct run *r)
{
	struct stacksnoop *t = r->own;
	uint64_t losses[LOSS_N], n = 0;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - t->told < NS_PER_S)
		return;
	t->told = now;
	losses_read(stream_losses(t->stream), losses);
	for (int i = 0; i < LOSS_N; i++)
		n += i == LOST_NOT_FOLLOWED ? 0 : losses[i]; /* counts tasks, not hits */
	if (n != t->n_told)
		log_warn("lost %" PRIu64 " hit%s so far", n, text_plural(n));
	t->n_told = n;
}

static void warn_stream_losses(struct run *r)
{
	const struct stacksnoop *t = r->own;
	struct profile_loss losses[LOSS_N];

	run_losses(r, stream_losses(t->stream), losses);
	losses[LOSS_UNPRINTED].n = t->n_unprinted;
	output_warn_losses(losses, LOSS_N, t->n_events);
	if (t->n_valueless)
		log_warn("%" PRIu64 " event%s no value: it cannot be read, or is not known there",
			 t->n_valueless, t->n_valueless == 1 ? " has" : "s have");
}

/* Nobody reads, and the run must end: warn about the events that nobody will see. */
static void drop_unread_events(struct run *r)
{
	struct stacksnoop *t = r->own;
	const uint64_t before = t->n_unprinted;
	struct error e;

	t->end_by = 1;
	if (stream_stop(t->stream, &e) == 0)
		(void)stream_read(t->stream, UINT64_MAX, print_event, r);
	log_warn("%" PRIu64 " events were not printed, or only in part",
		 t->n_events - t->n_written + t->n_unprinted - before);
	t->n_unprinted = before; /* the others are told */
	warn_stream_losses(r);
}

/* Print the events whose order is certain; @is_last: all. */
static int read_events(struct run *r, bool is_last, struct error *e)
{
	struct stacksnoop *t = r->own;
	int err;

	t->now = clock_ns(CLOCK_MONOTONIC);
	follow_clock(&t->clock);
	run_follow(r, UINT64_MAX);
	err = stream_read(t->stream, is_last ? UINT64_MAX : t->now, print_event, r);
	if (!err)
		err = writer_flush(&t->writer);
	if (!err)
		t->n_written = t->n_events;
	else if (err == -EINTR)
		drop_unread_events(r);
	run_warn_nameless(r);
	warn_of_losses(r);
	return output_explain(&r->output, err, e);
}

static int forget_all_stacks(struct run *r, struct error *e)
{
	struct stacksnoop *t = r->own;
	int err = stream_forget_all(t->stream, print_event, r, e);

	if (err && err == t->writer.result)
		return output_explain(&r->output, err, e);
	strbuf_fini(&t->text);
	t->n_templates = 0;
	u64_map_clear(&t->known);
	run_make_symbolizer(r, IDENTITY_ADDRESS);
	return err;
}

/* Make room for stacks, in user space or in the kernel. */
static int make_room_for_stacks(struct run *r, struct error *e)
{
	struct stacksnoop *t = r->own;
	const size_t template_bytes = t->text.capacity +
				      t->template_capacity * sizeof(*t->templates) +
				      t->known.n_slots * sizeof(*t->known.slots);
	bool has_room = stream_bytes(t->stream) + template_bytes <= t->budget.user_bytes;
	int err = 0;

	if (has_room && r->is_filling)
		err = stream_make_room(t->stream, &has_room, e);
	r->is_filling = false;
	if (!err && !has_room)
		err = forget_all_stacks(r, e);
	return err;
}

/* --- parts of a run --- */

static int stacksnoop_set_up(struct run *r, struct object_options *o, struct error *e)
{
	struct stacksnoop *t = r->own;
	struct trace_config *config = &o->config;
	uint64_t bytes = r->opt->max_memory;

	t->budget.has_value = r->values.name;
	stream_divide(bytes, r->n_cpus, &t->budget);
	o->max_chunks = t->budget.max_chunks;
	config->mode = MODE_EVENTS;
	config->ring_events = t->budget.ring_events;
	config->n_hot_rows = 1;
	config->rows_to_notice = UINT64_MAX;
	config->max_chunks = t->budget.max_chunks;
	config->chunks_to_notice = t->budget.max_chunks / 2;
	config->has_sum = t->budget.has_value;
	return set_up_values(r, &bytes, o, e);
}

static void stacksnoop_on_deferred(void *run, const struct recorded *hit, const uint64_t *words,
				   size_t n)
{
	struct stacksnoop *t = ((struct run *)run)->own;
	const struct late_stack stack = { hit->hit->number, stream_keep(t->stream, words, n) };

	array_push(t->late, t->n_late, t->late_capacity, stack);
}

/* The longest wait for a walk, for which later events wait, too. MUST_NS: it is needed now. */
#define PATIENCE_NS (3 * NS_PER_S / 10)
#define MUST_NS (NS_PER_S / 20)

/* Take the hash of hit @number out. False, and 0: it is not there. */
static bool take_late_stack(struct stacksnoop *t, uint64_t number, uint64_t *ret_hash)
{
	*ret_hash = 0;
	for (size_t i = 0; i < t->n_late; i++) {
		if (t->late[i].number != number)
			continue;
		*ret_hash = t->late[i].hash;
		t->late[i] = t->late[--t->n_late];
		return true;
	}
	return false;
}

static bool find_late_stack(void *context, uint64_t number, bool must, uint64_t *ret_hash)
{
	struct run *r = context;
	struct stacksnoop *t = r->own;

	if (take_late_stack(t, number, ret_hash))
		return true;
	if (!must)
		return false;
	deferral_settle(&r->deferral, 0, MUST_NS);
	(void)take_late_stack(t, number, ret_hash);
	return true;
}

static void open_stream(struct run *r)
{
	struct stacksnoop *t = r->own;
	const struct options *opt = r->opt;

	t->style.is_json = opt->json;
	t->style.label = (struct label_style){ opt->offset, opt->verbose,
					       opt->folded ? LABEL_FOLDED : LABEL_TEXT };
	if (t->budget.has_value)
		event_set_value(&t->style, r->values.unit);
	t->stream = stream_new(r->object, &t->budget, r->n_cpus);
	stream_set_find(t->stream, find_late_stack, r);
	r->deferral.patience_ns = PATIENCE_NS;
	t->writer.write = output_write;
	t->writer.context = &r->output;
	run_make_symbolizer(r, IDENTITY_ADDRESS);
	if (opt->timestamp)
		t->clock.form = opt->json ? EVENT_TIME_SINCE_1970 : EVENT_TIME_OF_DAY;
	r->has_events = true;
}

static void stacksnoop_start(struct run *r)
{
	struct stacksnoop *t = r->own;

	stream_start(t->stream);
}

static int stacksnoop_put_header(struct run *r, struct error *e)
{
	const struct stacksnoop *t = r->own;
	cleanup_strbuf struct strbuf line = {};

	if (r->opt->json || r->opt->folded)
		return run_put_header(r, true, e);
	event_put_header(&line, &t->style);
	return output_put(&r->output, line.text, line.n, e);
}

static uint64_t stacksnoop_due(const struct run *r)
{
	return r->has_events ? clock_ns(CLOCK_MONOTONIC) + READ_NS : UINT64_MAX;
}

static int stacksnoop_on_wake(struct run *r, struct error *e)
{
	struct stacksnoop *t = r->own;
	int err;

	t->n_empty_reads++;
	err = read_events(r, false, e);
	if (!err && !r->waiter.is_asked)
		err = make_room_for_stacks(r, e);
	if (r->has_events && t->n_empty_reads > EMPTY_READS)
		r->has_events = !stream_sleep(t->stream);
	return err;
}

static bool stacksnoop_has_printed(const struct run *r, uint64_t until)
{
	const struct stacksnoop *t = r->own;

	return t->n_written == t->n_events && stream_is_read(t->stream, until);
}

static int stacksnoop_stop(struct run *r, struct error *e)
{
	struct stacksnoop *t = r->own;

	return stream_stop(t->stream, e);
}

static int stacksnoop_report(struct run *r, struct error *e)
{
	const int err = read_events(r, true, e);

	if (!err)
		warn_stream_losses(r);
	return err;
}

static void close_stream(struct run *r)
{
	struct stacksnoop *t = r->own;

	writer_fini(&t->writer);
	stream_free(t->stream);
	strbuf_fini(&t->text);
	free(t->late);
	u64_map_fini(&t->known);
	free(t->templates);
}

int snoop_stacks(const struct options *opt, struct error *e)
{
	static const struct tool_parts tool = {
		.has_stacks = true,
		.set_up = stacksnoop_set_up,
		.open = open_stream,
		.start = stacksnoop_start,
		.put_header = stacksnoop_put_header,
		.due = stacksnoop_due,
		.on_wake = stacksnoop_on_wake,
		.on_serve = warn_of_losses,
		.has_printed = stacksnoop_has_printed,
		.on_deferred = stacksnoop_on_deferred,
		.stop = stacksnoop_stop,
		.report = stacksnoop_report,
		.close = close_stream,
	};
	struct stacksnoop own = {};

	return run_tool(&tool, &own, opt, e);
}
