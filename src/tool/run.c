// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* run_tool() at the end has the phases of a run. ARCHITECTURE.md explains them under "A run". */
#include "tool/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/read.h"
#include "base/text.h"
#include "files/debuginfod.h"
#include "files/question.h"
#include "report/writer.h"

/* Does the run take user stacks, so that it needs the zygote? */
static bool run_wants_helpers(const struct run *r)
{
	return r->tool->has_stacks && !r->opt->kernel_only;
}

/* --- the limit of open files --- */

/*
 * The fewest descriptors of a run with a command: programs, maps and one probe; with user stacks
 * also a socket, an eventfd and areas for each purpose (files/files.c).
 */
#define FEWEST_FILES 63
#define FEWEST_FILES_OF_USER_STACKS 103

static int refuse_limit(rlim_t limit, rlim_t least, struct error *e)
{
	return error_set(e, -EMFILE,
			 "the limit of open files is %llu; this run needs %llu (see ulimit -Hn)",
			 (unsigned long long)limit, (unsigned long long)least);
}

/* Call it before the run opens anything. Errors: -EMFILE, the hard limit is too low. */
static int limits_check(const struct run *r, struct error *e)
{
	const rlim_t least = run_wants_helpers(r) ? FEWEST_FILES_OF_USER_STACKS : FEWEST_FILES;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= least)
		return 0;
	return refuse_limit(files.rlim_max, least, e);
}

/* Raise the soft limit to the hard one. Processes that are forked later inherit it. */
static void limits_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

/*
 * Probes and records of processes take as many descriptors as there are. Keep some for the rest of
 * the run. Errors: -EMFILE.
 */
static int limits_hold(struct run *r, struct error *e)
{
	struct rlimit files;

	r->n_held_files = descriptors_hold(r->held_files, FILES_OF_REST);
	if (r->n_held_files == FILES_OF_REST || !run_wants_helpers(r) ||
	    getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 0;
	return refuse_limit(files.rlim_cur, files.rlim_cur + FILES_OF_REST - r->n_held_files, e);
}

/* --- who asks for foreign files --- */

/* Records of all processes wait while this one does. A finder usually takes some 100 us. */
#define CAPTURE_PATIENCE_NS (NS_PER_S / 4)

/*
 * The most for all files of one user, and for a question. A usual file takes some ms, the most
 * expensive one a second.
 */
#define FILES_BOUNDS \
	.most_of_user_ns = 30 * NS_PER_S, .finder_ns = 2 * NS_PER_S, .parser_ns = 20 * NS_PER_S

static const struct files_purpose purposes[PURPOSES] = {
	[FOR_TABLES] = { .lost = "user stacks may be cut (no unwind table)",
			 .after = "this user's other files get no unwind tables",
			 FILES_BOUNDS },
	[FOR_FOLLOWING] = { .lost = "user frames may be [unknown]",
			    .after = "mappings of this user's processes are not read",
			    FILES_BOUNDS },
	[FOR_NAMES] = { .lost = "user frames may be [unknown]",
			.after = "frames in this user's other files have no names",
			FILES_BOUNDS },
};

/* Call it before the run opens anything, and while it has one thread. */
static int helpers_start(struct run *r, struct error *e)
{
	int err = run_wants_helpers(r) ? zygote_start(files_work, &r->zygote, e) : 0;

	r->places = places_new();
	for (size_t i = 0; i < PURPOSES && !err; i++) {
		r->files[i] = files_new(TAKE_FD(r->zygote.controls[i]), r->places, &purposes[i]);
		if (!r->files[i])
			err = error_set(e, -EMFILE, "%s", error_words(-EMFILE));
	}
	return err ? error_within(e, "start helper processes") : 0;
}

/* The BPF programs leave out the hits of the zygote and of its children; 0: no longer. */
static void helpers_leave_out(const struct run *r, pid_t zygote)
{
	__atomic_store_n(&object_state(r->object)->zygote, (uint32_t)zygote, __ATOMIC_RELAXED);
}

/* End all waits. */
static void helpers_end(struct run *r)
{
	for (size_t i = 0; i < PURPOSES; i++)
		files_end(r->files[i]);
	if (r->object)
		helpers_leave_out(r, 0);
}

/* No thread may ask anything any more. */
static void helpers_fini(struct run *r)
{
	for (size_t i = 0; i < PURPOSES; i++)
		files_free(r->files[i]);
	places_free(r->places);
	zygote_fini(&r->zygote);
}

/* --- what the programs note about their own hits --- */

double hits_cost_ns(const struct run *r, struct hit_cost *before)
{
	const struct hit_cost last = *before;
	struct slot_counts counts;
	uint64_t n;

	*before = object_slot_counts(r->object, r->n_cpus, &counts) ? counts.cost
								    : (struct hit_cost){};
	n = before->n_measured - last.n_measured;
	return n ? (double)(before->ns - last.ns) / (double)n : 0;
}

/* Log both, for --debug: the price, and how many hits of our own processes were left out. */
static void hits_describe(const struct run *r)
{
	const uint64_t n = losses_counter(r->object, r->n_cpus, OWN_HITS);
	struct hit_cost cost = {};
	const double mean_ns = log_level() >= LOG_DEBUG ? hits_cost_ns(r, &cost) : 0;

	if (n)
		log_debug("left out %llu of this program's own hits (--self counts them)",
			  (unsigned long long)n);
	if (cost.n_measured)
		log_debug("a hit took the traced program %.0f ns, the mean of %llu of %llu hit%s; "
			  "the kernel's own time for the probe comes on top",
			  mean_ns, (unsigned long long)cost.n_measured,
			  (unsigned long long)cost.n_hits, text_plural(cost.n_hits));
	if (r->opt->patterns.elapsed)
		log_debug("%llu pairs have begun",
			  (unsigned long long)losses_counter(r->object, r->n_cpus, BEGUN));
}

/* --- losses, and perf events that are sampled --- */

/* Warns about events that had a counter for a part of the time only. */
#define ALL_THE_TIME 0.999

/*
 * The samples that the kernel left out, up to now. While the events count, more of them come
 * between the two readings: then it is fewer by these.
 */
static uint64_t count_skipped(const struct run *r, const struct samples_state *state)
{
	const uint64_t n_seen = losses_counter(r->object, r->n_cpus, SAMPLES);

	return state->is_counted && state->n_due > n_seen ? state->n_due - n_seen : 0;
}

void run_losses(struct run *r, struct losses *losses, struct profile_loss ret[LOSS_N])
{
	const struct samples_state state = samples_read(r->attachment);
	uint64_t counts[LOSS_N];

	losses->n_missed = later_time(losses->n_missed, attachment_missed(r->attachment));
	losses->n_skipped = later_time(losses->n_skipped, count_skipped(r, &state));
	losses->n_slowed = later_time(losses->n_slowed, state.n_slowed);
	losses_read(losses, counts);
	for (int i = 0; i < LOSS_N; i++)
		ret[i] = (struct profile_loss){ loss_text((unsigned)i), counts[i] };
	follower_tell_losses(r);
}

/* Warn of samples that nobody could count, and log the hits that are no losses. */
static void samples_describe(const struct run *r)
{
	const struct samples_state s = samples_read(r->attachment);

	if (!s.n)
		return;
	log_debug("perf events: %llu periods, %llu samples", (unsigned long long)s.n_due,
		  (unsigned long long)losses_counter(r->object, r->n_cpus, SAMPLES));
	if (!s.is_counted)
		log_warn("samples may be missing: by frequency, the kernel does not count those "
			 "that it leaves out");
	if (s.least_time < ALL_THE_TIME)
		log_warn("an event had a counter for %.1f%% of the time only: others hold the "
			 "CPU's counters",
			 100 * s.least_time);
}

/* --- --ready-fd --- */

/*
 * --ready-fd: tell the parent process that counting has begun. If the descriptor is a socket, the
 * parent may then ask when all that was hit so far is stored. A question is a byte, and so is its
 * answer. The question notes positions in the rings, and a time. Later hits do not hold up its
 * answer.
 */
struct ready {
	uint64_t fd;    /* 0: the option was not given */
	bool is_told;   /* the line is written */
	bool is_socket; /* the parent may ask */
	size_t n;       /* questions that wait for what was there when the last one came */
	uint64_t since; /* ns: that time */
	uint64_t notices, deferred; /* notices_end() and deferred_end() then */
	bool is_stored;             /* only the unwinder's @wishes are missing */
	uint64_t wishes;
};

/* When something is on its way: deferred hits, or what an answer waits for. */
#define SOON_NS (NS_PER_S / 1000)

/* A peer that has gone, or does not read, is no error, and holds up nothing. */
static bool send_line(const struct ready *ready)
{
	return send((int)ready->fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/*
 * Call it when counting has begun and the mappings of all running processes are read. Once the
 * tables are made, it writes a newline to the descriptor and closes it, unless it is a socket. It
 * is no error if nobody reads that, or a pipe is full.
 */
static void ready_tell(struct run *r)
{
	struct ready *ready = r->ready;
	struct pollfd pipe = { .fd = (int)ready->fd, .events = POLLOUT };

	if (!ready->fd || ready->is_told || (r->unwinder && !unwinder_wait(r->unwinder, 0)))
		return;
	ready->is_told = true;
	if (ready->is_socket ? !send_line(ready)
			     : poll(&pipe, 1, 0) <= 0 || write(pipe.fd, "\n", 1) != 1)
		log_debug("--ready-fd: nobody reads descriptor %" PRIu64, ready->fd);
	if (!ready->is_socket)
		(void)close((int)ready->fd);
}

static void read_questions(struct run *r)
{
	struct ready *ready = r->ready;
	char bytes[64];
	const ssize_t got = recv((int)ready->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0) {
		ready->n += (size_t)got;
		ready->since = clock_ns(CLOCK_MONOTONIC);
		ready->notices = notices_end(r->notices);
		ready->deferred = deferred_end(&r->deferral.reader);
		ready->is_stored = false;
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		/* The parent asks no more. */
		(void)epoll_ctl(r->waiter.epoll, EPOLL_CTL_DEL, (int)ready->fd, NULL);
	}
}

/* Records of processes, notices, deferred hits, events, and then the unwinder's wishes. */
static bool is_all_stored(struct run *r)
{
	struct ready *ready = r->ready;

	if (!ready->is_stored) {
		ready->is_stored = notices_are_read(r->notices, ready->notices) &&
				   deferral_has_given(&r->deferral, ready->deferred) &&
				   follower_has_read(r, ready->since) &&
				   (!r->tool->has_printed || r->tool->has_printed(r, ready->since));
		ready->wishes = r->unwinder ? unwinder_n_wishes(r->unwinder) : 0;
	}
	return ready->is_stored && (!r->unwinder || unwinder_has_done(r->unwinder, ready->wishes));
}

/*
 * Tell the parent that all is ready, if it is, unless mappings of running processes are not read
 * (@is_looking). Then read its questions. Answer a question once all from before it is stored.
 * True: something is missing yet, so come back after SOON_NS at most.
 */
static bool ready_serve(struct run *r, bool is_looking)
{
	struct ready *ready = r->ready;

	if (r->is_counting && !is_looking)
		ready_tell(r);
	if (ready->is_socket)
		read_questions(r);
	if (!ready->is_told)
		return ready->fd;
	if (ready->n && !is_all_stored(r))
		return true;
	while (ready->n && send_line(ready))
		ready->n--;
	return false; /* if the socket is full, the rest goes out at another turn */
}

/* --- the end of a run --- */

/*
 * From the signal that ends a run, or its last hit, to its last report.
 *
 * After a signal, the user waits. So each part of the work has a bound then.
 */
struct ending {
	uint64_t signal_at;            /* ns: when a signal ended the run; 0: none has */
	uint64_t cpu_at_signal;        /* ns: CPU time of the main thread then */
	uint64_t looked_at;            /* ns: the last look for a signal, while there is work */
	uint64_t waited_for_others_ns; /* after the end, for children (ending_is_enough()) */
	bool is_too_late;              /* for records and notices */
	bool is_all_read; /* hits have ended, and so has the reading of records and notices */
};

/*
 * A flood of hits, processes or mappings does not end with the run. So no part of the end goes on
 * while something comes. Records and notices of processes that there is no time for are losses.
 *
 * The bound is of work (CPU time of the main thread) and of waits for others. A busy machine, which
 * gives us little of a CPU, costs nothing but time.
 */

/*
 * After its last hit, the run does so much work for records and notices. Those of 6,000 programs,
 * which waited while nobody read the output, took less than half of it. Walks of deferred hits may
 * take as long, and lists of mappings half of it.
 */
#define LAST_NS NS_PER_S
/* For finders, and for parsers of other users' files. Half of it is for the last report. */
#define LAST_WAITS_NS (2 * NS_PER_S)
/* For names in files that only root can change. They are large at most, unless a child hangs. */
#define LAST_ROOTS_NS (20 * NS_PER_S)

/* Has a signal ended the run? From then on, the user waits for the report. */
static void note_signal(struct run *r)
{
	if (r->ending->signal_at || !(r->waiter.is_asked || waiter_take_signals(&r->waiter)))
		return;
	r->ending->signal_at = clock_ns(CLOCK_MONOTONIC);
	r->ending->cpu_at_signal = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool ending_has_signal(struct run *r)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - r->ending->looked_at >= TICK_NS) {
		note_signal(r);
		r->ending->looked_at = now;
	}
	return r->ending->signal_at;
}

/* A call may take half of what is left, so that one file leaves time for others. */
static bool is_enough_for_others(struct ending *n, uint64_t ns, uint64_t all_ns)
{
	n->waited_for_others_ns += ns;
	return n->waited_for_others_ns + all_ns >=
	       (n->is_all_read ? LAST_WAITS_NS : LAST_WAITS_NS / 2);
}

/* The is_enough() of struct files_manner. @run is a struct run. */
static bool ending_is_enough(void *run, bool is_roots, uint64_t ns, uint64_t all_ns)
{
	struct run *r = run;
	struct ending *n = r->ending;

	if (!ending_has_signal(r))
		return n->is_all_read && !is_roots && is_enough_for_others(n, ns, all_ns);
	if (waiter_has_signal(&r->waiter)) /* a second one */
		return true;
	if (process_state(r->zygote.pid) == 'T') /* then nobody ends its children */
		return true;
	if (is_roots) /* half of what is left, too */
		return clock_ns(CLOCK_MONOTONIC) + all_ns > n->signal_at + LAST_ROOTS_NS;
	return is_enough_for_others(n, ns, all_ns);
}

bool ending_is_near(void *run)
{
	const struct run *r = run;

	return waiter_must_end(&r->waiter);
}

bool ending_has_time(struct run *r)
{
	struct ending *n = r->ending;

	if (ending_has_signal(r) && clock_ns(CLOCK_THREAD_CPUTIME_ID) - n->cpu_at_signal >= LAST_NS)
		n->is_too_late = true;
	return !n->is_too_late;
}

/* No hits come any more, and so no notices. But records of processes still do. */
static void hear_last(struct run *r)
{
	size_t before, n_left = SIZE_MAX;

	do {
		before = n_left;
		run_hear(r);
		n_left = notices_n_waiting(r->notices);
	} while (ending_has_time(r) && n_left && n_left < before);
	if (r->ending->is_too_late)
		follower_drop(r, n_left);
}

/* The run is over: stop counting, and do all work that is left before the last report. */
static int ending_settle(struct run *r, struct error *e)
{
	int err;

	r->is_counting = false;
	note_signal(r);
	/* They end before counting does: so each of their counts is a sample, or one left out. */
	samples_end(r->attachment);
	err = r->tool->stop(r, e);
	if (r->unwinder)
		unwinder_last(r->unwinder);
	hear_last(r);
	if (!err && r->processes)
		processes_settle(r->processes, clock_ns(CLOCK_MONOTONIC) + LAST_NS / 2);
	deferral_settle(&r->deferral, 0, LAST_NS);
	if (r->unwinder) { /* it ends while the report is made, so the run need not wait for it */
		unwinder_end(r->unwinder);
		files_end(r->files[FOR_TABLES]);
	}
	r->ending->is_all_read = true;
	return err;
}

/* --- the run --- */

static void run_fini(struct run *r)
{
	waiter_close(&r->waiter);
	kernel_stacks_end(&r->kernel_stacks);
	helpers_end(r);
	r->tool->close(r);
	symbolizer_free(r->symbolizer);
	processes_free(r->processes);

	const bool is_free = unwinder_stop(r->unwinder); /* else the kernel frees all at our end */

	if (is_free) {
		deferral_close(&r->deferral);
		helpers_fini(r);
	}
	follower_close(r->follow);
	notices_close(r->notices);
	attachment_freep(&r->attachment);
	command_fini(&r->command);
	if (is_free)
		object_freep(&r->object);
	plan_fini(&r->plan);
	values_fini(&r->values);
	value_code_fini(&r->value_code);
	target_list_fini(&r->targets);
	host_freep(&r->host);
}

static void put_id_list(struct strbuf *to, const char *what, const struct number_list *list)
{
	strbuf_puts(to, what);
	for (size_t i = 0; i < list->n; i++)
		strbuf_printf(to, "%s%" PRIu32, i ? "," : "", list->numbers[i]);
}

static void put_threads(struct strbuf *to, const struct options *opt)
{
	if (opt->pids.n) {
		put_id_list(to, "PID ", &opt->pids);
	} else if (opt->tids.n) {
		put_id_list(to, "TID ", &opt->tids);
	} else if (opt->command) {
		strbuf_puts(to, "command ");
		escape_put(to, opt->command[0], false);
	} else {
		strbuf_puts(to, "all threads");
	}
}

/* "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end." */
static void cpu_profile_put_header(const struct options *opt, struct strbuf *to)
{
	if (opt->period)
		strbuf_printf(to, "Sampling at every %" PRIu64 " events of ", opt->period);
	else
		strbuf_printf(to, "Sampling at %" PRIu64 " Hertz of ", opt->frequency);
	put_threads(to, opt);
	strbuf_printf(to, " by %s stack",
		      opt->user_only     ? "user"
		      : opt->kernel_only ? "kernel"
					 : "user + kernel");
	if (opt->cpus.n)
		put_id_list(to, " on CPU#", &opt->cpus);
	if (opt->duration_ns)
		strbuf_printf(to, " for %g secs.\n", (double)opt->duration_ns / 1e9);
	else
		strbuf_puts(to, "... Hit Ctrl-C to end.\n");
}

static void put_usual_header(const struct run *r, struct strbuf *text)
{
	strbuf_printf(text, "Tracing %zu functions for ", attachment_n_attached(r->attachment));
	for (size_t i = 0; i < r->opt->patterns.n; i++) {
		strbuf_puts(text, i ? ", \"" : "\"");
		escape_put(text, r->opt->patterns.texts[i], false);
		strbuf_puts(text, "\"");
	}
	strbuf_puts(text, "... Hit Ctrl-C to end.\n");
}

int run_put_header(struct run *r, bool is_for_data, struct error *e)
{
	cleanup_strbuf struct strbuf text = {};

	if (r->opt->tool == TOOL_PROFILE)
		cpu_profile_put_header(r->opt, &text);
	else
		put_usual_header(r, &text);
	if (!is_for_data)
		return output_put(&r->output, text.text, text.n, e);
	(void)fputs(text.text, stderr);
	return 0;
}

void run_walk(struct run *r, uint32_t tgid, enum unwinder_wish how)
{
	if (!r->unwinder)
		return;
	processes_walk(r->processes, tgid);
	unwinder_look(r->unwinder, tgid, how);
}

/*
 * A program sends one NOTICE_UNMAPPED, then no more until the run asks for the next one. Where the
 * kernel's own mappings have served, a published list only makes walks cheaper, and most such
 * processes end soon.
 */
#define UNMAPPED_PAUSE_NS (NS_PER_S / 200)
#define WALKED_PAUSE_NS (NS_PER_S / 40)

static void note_unmapped(struct run *r, const struct notice *notice)
{
	r->ask_unmapped_at[notice->is_walked & 1] =
		clock_ns(CLOCK_MONOTONIC) +
		(notice->is_walked ? WALKED_PAUSE_NS : UNMAPPED_PAUSE_NS);
	if (notice->tgid)
		run_walk(r, notice->tgid, UNWINDER_NOW);
}

/*
 * Ask the programs for the next notices, if it is time to. Returns the time of the next question.
 */
static uint64_t ask_unmapped(struct run *r)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < 2; i++) {
		if (r->ask_unmapped_at[i] > now)
			continue;
		r->ask_unmapped_at[i] = UINT64_MAX;
		__atomic_store_n(&object_state(r->object)->is_unmapped[i], 0, __ATOMIC_RELAXED);
	}
	return earlier_time(r->ask_unmapped_at[0], r->ask_unmapped_at[1]);
}

void run_warn_nameless(const struct run *r)
{
	const char *trouble = symbolizer_kernel_trouble(r->symbolizer);

	if (trouble)
		log_warn_once("cannot name kernel functions: %s", trouble);
}

static void note_sighting(struct run *r, const struct notice *notice)
{
	const uint64_t key = process_key(notice->tgid, notice->life);
	struct program_run program;

	processes_seen(r->processes, key, notice);
	processes_program(r->processes, key, notice->time, &program);
	symbolizer_watch(r->symbolizer, &program);
}

static bool handle_notice(void *context, const struct notice *notice)
{
	struct run *r = context;

	if (notice->type == NOTICE_UNMAPPED)
		note_unmapped(r, notice);
	if (notice->type == NOTICE_PROCESS && r->processes) {
		/* The process may have begun this life after the last reading of records. */
		run_follow(r, notice->time);
		note_sighting(r, notice);
	}
	r->is_enough = r->is_enough || notice->type == NOTICE_ENOUGH;
	r->is_filling = r->is_filling || notice->type == NOTICE_FILLING;
	r->has_events = r->has_events || notice->type == NOTICE_EVENTS;
	return clock_ns(CLOCK_MONOTONIC) < r->hear_until;
}

/* Signals, timers and deferred hits wait while notices are read. The other notices come next. */
void run_hear(void *run)
{
	struct run *r = run;

	run_follow(r, UINT64_MAX);
	r->hear_until = clock_ns(CLOCK_MONOTONIC) + TICK_NS;
	notices_read(r->notices, handle_notice, r);
}

/*
 * Read records of processes as often: their files are opened while they can be found, and another
 * file at the same addresses soon begins another life.
 */
#define FOLLOW_NS (NS_PER_S / 4)

/*
 * Do what is to be done besides reports. Returns when there is more of it, if nothing happens
 * meanwhile; 0: at once, as mappings of processes from before the run are not read yet.
 */
static uint64_t work(struct run *r)
{
	uint64_t due;
	bool is_looking;

	run_hear(r);
	deferral_serve(&r->deferral);
	due = ask_unmapped(r);
	is_looking = follower_look(r);
	if (ready_serve(r, is_looking))
		due = earlier_time(due, clock_ns(CLOCK_MONOTONIC) + SOON_NS);
	if (is_looking)
		return 0;
	return r->follow ? earlier_time(due, clock_ns(CLOCK_MONOTONIC) + FOLLOW_NS) : due;
}

void run_serve(void *run)
{
	struct run *r = run;

	if (r->ending->is_all_read || (clock_ns(CLOCK_MONOTONIC) - r->served_at < TICK_NS &&
				       !(r->is_counting && r->waiter.is_asked)))
		return;
	if (r->is_counting && waiter_must_end(&r->waiter)) { /* however long the report takes */
		r->is_counting = false;
		__atomic_store_n(&object_state(r->object)->turn, TURN_OFF, __ATOMIC_RELEASE);
	}
	(void)work(r);
	if (r->is_counting && r->tool->on_serve)
		r->tool->on_serve(r);
	r->served_at = clock_ns(CLOCK_MONOTONIC);
}

#define REFRESH_NS (NS_PER_S / 4)

void run_refresh(struct run *r)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + REFRESH_NS;
	bool is_left = true;

	processes_refresh(r->processes);
	while (clock_ns(CLOCK_MONOTONIC) < until && (is_left = processes_read_hit(r->processes)))
		run_serve(r);
	if (is_left)
		log_warn_once("a report did not wait for the mappings of all processes: frames in "
			      "files that they have mapped lately are [unknown]");
	symbolizer_refresh(r->symbolizer);
}

/*
 * Wait for occasions once, and handle them. *@due is the result of work(), or 0. *@is_over: the run
 * ends.
 */
static int wait_and_handle(struct run *r, uint64_t *due, bool *is_over, struct error *e)
{
	const struct tool_parts *tool = r->tool;
	uint64_t until = earlier_time(*due, probing_watch_samples(r)), served;
	unsigned occasions;
	int err;

	if (tool->due)
		until = earlier_time(until, tool->due(r));
	if (r->deferral.n)
		until = earlier_time(until, clock_ns(CLOCK_MONOTONIC) + SOON_NS);
	if (r->waiter.is_asked) /* it has taken the signal (ending_is_enough()) */
		until = 0;
	err = waiter_wait(&r->waiter, until, &occasions, e);
	if (err)
		return err;
	*due = work(r);
	served = r->served_at;
	*is_over = r->is_enough || r->waiter.is_asked ||
		   occasions & (OCCASION_TIME_IS_UP | OCCASION_COMMAND_ENDED |
				OCCASION_PROCESSES_ENDED | OCCASION_NO_READER);
	if (*is_over)
		return 0;
	if (tool->on_wake)
		err = tool->on_wake(r, e);
	if (r->served_at != served) /* questions may have come */
		*due = 0;
	if (!err && occasions & (OCCASION_INTERVAL | OCCASION_REPORT) && tool->on_interval) {
		err = tool->on_interval(r, e);
		*due = 0; /* it may have taken long */
	}
	*is_over = r->waiter.is_asked || r->output.has_no_reader || r->is_enough;
	return err;
}

static int work_until_over(struct run *r, struct error *e)
{
	bool is_over = waiter_saw_processes_end(&r->waiter);
	uint64_t due = 0;
	int err = 0;

	while (!err && !is_over)
		err = wait_and_handle(r, &due, &is_over, e);
	return err ? err : ending_settle(r, e);
}

static void print_ends(struct run *r)
{
	cleanup_strbuf struct strbuf text = {};

	if (waiter_saw_processes_end(&r->waiter))
		log_warn("%s of -p %s ended", r->opt->pids.n > 1 ? "all processes" : "the process",
			 r->opt->pids.n > 1 ? "have" : "has");
	if (!r->opt->command)
		return;
	(void)command_has_ended(&r->command);
	command_describe(&r->command, &text);
	log_warn("%s", text.text);
}

#define DETACHING "Detaching...\n"

/*
 * The kernel may take long to remove probes, so the last report comes before that. The probes go
 * first if the report would hit them all the time, as other programs would until it is printed. The
 * signal that ended the run may come twice at once: timeout(1) sends it to a process and to its
 * group.
 */
static int finish_run(struct run *r, struct error *e)
{
	if (probing_hits_report(r))
		attachment_detach(r->attachment);
	(void)waiter_take_signals(&r->waiter);

	int err = r->tool->report(r, e);

	if (r->opt->debug) {
		probing_describe(r);
		object_describe(r->object);
		deferral_describe(&r->deferral);
	}
	kernel_stacks_describe(&r->kernel_stacks, r->n_cpus);
	samples_describe(r);
	hits_describe(r);
	print_ends(r);
	if (!err && r->tells_end)
		err = output_put(&r->output, DETACHING, strlen(DETACHING), e);
	waiter_release_signals(&r->waiter);
	attachment_freep(&r->attachment);
	return err;
}

static int run_command(struct run *r, struct error *e)
{
	struct notice notice = { .type = NOTICE_PROCESS,
				 .tgid = (uint32_t)r->command.pid,
				 .since = UINT64_MAX };
	int err = command_exec(r, e);

	if (err)
		return err;
	(void)snprintf(notice.comm, sizeof(notice.comm), "%s", *r->opt->command);
	handle_notice(r, &notice); /* reads its exec first */
	run_walk(r, notice.tgid, UNWINDER_NOW);
	return 0;
}

static int start_following(struct run *r, struct error *e)
{
	const int err = run_wants_helpers(r) ? follower_open(r, e) : 0;

	if (!err && r->tool->has_stacks)
		r->processes = processes_new(r->files[FOR_FOLLOWING]);
	return err;
}

#define FIRST_TABLES_NS (10 * NS_PER_S)

/*
 * Have the tables made of -p's processes, and wait for all. A file system of another user may be
 * slow: its tables come while the run counts. Records of processes must not wait for it.
 */
static void make_first_tables(struct run *r)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + FIRST_TABLES_NS;
	uint64_t now;

	if (!r->unwinder)
		return;
	for (size_t i = 0; i < r->opt->pids.n; i++)
		run_walk(r, r->opt->pids.numbers[i], UNWINDER_NOW);
	do {
		run_follow(r, UINT64_MAX);
		now = clock_ns(CLOCK_MONOTONIC);
	} while (!unwinder_wait(r->unwinder, now + TICK_NS) && now < until);
	if (now >= until)
		log_warn("files of traced processes are slow to read: the first user stacks may be "
			 "cut");
}

static int start_run(struct run *r, struct error *e)
{
	const struct options *opt = r->opt;
	struct stat st;
	int err = notices_open(r->object, &r->notices, e);

	if (err)
		return err;
	helpers_leave_out(r, r->zygote.pid);
	output_init(&r->output, &r->waiter);
	files_set_manner(r->files[FOR_FOLLOWING],
			 &(struct files_manner){ .patience_ns = CAPTURE_PATIENCE_NS,
						 .is_enough = ending_is_enough,
						 .context = r });
	files_set_manner(r->files[FOR_NAMES], &(struct files_manner){ .serve = run_serve,
								      .is_enough = ending_is_enough,
								      .context = r });
	r->output.serve = run_serve;
	r->output.context = r;
	err = start_following(r, e);
	descriptors_release(r->held_files, r->n_held_files);
	privileges_keep(r->writes_files); /* threads that begin later inherit this */
	if (!err && object_slabs(r->object))
		err = unwinder_start(r->object, r->opt->unwind_memory, r->files[FOR_TABLES],
				     &r->unwinder, e);
	if (err)
		return err;
	r->tool->open(r);
	command_find_files(r);
	make_first_tables(r);
	r->deferral.asked = r->waiter.signals;
	deferral_begin(&r->deferral, r->object, r->unwinder, r->processes);
	err = waiter_start(&r->waiter, r->notices, &r->command, e);
	r->ready->is_socket =
		opt->ready_fd && fstat((int)opt->ready_fd, &st) == 0 && S_ISSOCK(st.st_mode);
	if (!err && r->ready->is_socket)
		err = waiter_watch(&r->waiter, (int)opt->ready_fd, OCCASION_QUESTION, e);
	if (err)
		return err;
	waiter_watch_processes(&r->waiter, &opt->pids);
	/* Naming may have to execute debuginfod-find. */
	privileges_seal(r->tool->has_stacks && !opt->no_debuginfod && debuginfod_has_servers());
	waiter_begin(&r->waiter, opt->interval_ns, opt->duration_ns);
	r->tool->start(r);
	r->is_counting = true;
	samples_enable(r->attachment); /* their programs count already */
	err = r->tool->put_header(r, e);
	if (!err)
		object_begin_level(r->object);
	if (!err)
		kernel_stacks_begin(&r->kernel_stacks, r->host, r->object);
	host_forget_types(r->host);
	if (!err && r->command.pid) {
		ready_tell(r);
		err = run_command(r, e);
	}
	return err;
}

void run_make_symbolizer(struct run *r, enum frame_identity identity)
{
	const struct symbolizer_options options = {
		.names = r->files[FOR_NAMES],
		.identity = identity,
		.places = r->opt->verbose || identity >= IDENTITY_PLACE,
		.raw_names = r->opt->patterns.raw_names,
		.lines = r->opt->lines,
		.no_debuginfod = r->opt->no_debuginfod,
		.no_names = r->opt->no_names,
		.helper = &object_state(r->object)->helper_tgid,
		.serve = run_serve,
		.context = r,
	};

	symbolizer_free(r->symbolizer);
	r->symbolizer = symbolizer_new(r->host, r->processes, &options);
}

/* A walk that takes longer is given up: the table's file may hang. */
#define PATIENCE_NS (2 * NS_PER_S)

int run_tool(const struct tool_parts *tool, void *own, const struct options *opt, struct error *e)
{
	struct ready ready = { .fd = opt->ready_fd };
	struct ending ending = {};
	cleanup(run_fini) struct run r = {
		.opt = opt,
		.tool = tool,
		.own = own,
		.host = host_new(),
		.command = COMMAND_NONE,
		.waiter = WAITER_NONE,
		.zygote = ZYGOTE_NONE,
		.values = { .of = &opt->patterns },
		.deferral = { .give = tool->on_deferred,
			      .hear = run_hear,
			      .context = &r,
			      .most_frames =
				      opt->max_depth ? (uint32_t)opt->max_depth : STACK_MAX_FRAMES,
			      .patience_ns = PATIENCE_NS },
		.ready = &ready,
		.ending = &ending,
		.ask_unmapped_at = { UINT64_MAX, UINT64_MAX },
	};
	int err = limits_check(&r, e);

	if (!err)
		err = helpers_start(&r, e);
	if (!err && tool->prepare)
		err = tool->prepare(&r, e);
	if (!err)
		err = probing_prepare(&r, e);
	if (!err && opt->command)
		err = command_hold(&r, e);
	limits_raise(); /* many probes need many descriptors; the command keeps the user's limit */
	if (!err)
		err = waiter_open(&r.waiter, e);
	if (!err)
		err = probing_load(&r, e);
	if (!err)
		err = limits_hold(&r, e);
	if (!err)
		err = probing_attach(&r, e);
	if (!err)
		err = start_run(&r, e);
	if (!err)
		err = work_until_over(&r, e);
	if (!err)
		err = finish_run(&r, e);
	return err;
}
