// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A question's life:
 *
 *	ask --> a child works --> NEWS_STOPPED or NEWS_ENDED: its answer counts, if it is whole
 *	          |  is late, or nobody waits any more: ORDER_KILL
 *	          +--> NEWS_ENDED, or NEWS_LEFT after 0.2 s: it hangs in a file system
 *
 * The asker trusts no report of a child about itself: the zygote tells its end and its CPU time. A
 * question whose asker lost patience goes on; its outcome is noted when it comes.
 *
 * A finder stays after its answer, because a new process costs more than its work. A parser of
 * names stays with what it knows of the file: to index the symbols of a large library takes as long
 * as to name a hundred thousand places in it.
 */
#include "files/asking.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/read.h"
#include "files/sandbox.h"
#include "files/zygote.h"

/* After an order to kill a child, the zygote tells its end or that it hangs. */
#define NEWS_NS (2 * NS_PER_S)

/* Children that stay. */
#define MOST_PARKED 16
#define PARKED_BYTES (512ULL << 20)                /* all of them */
#define PARKED_NS (60 * NS_PER_S)                  /* without a question */
#define PARKED_CPU_NS (CHILD_CPU_S * NS_PER_S / 2) /* a child that took more does not stay */
#define LEAST_AREA 65536U
#define KEPT_BYTES 65536 /* the most that an area keeps for the next question */

struct files *files_new(int control, struct places *places, const struct files_purpose *purpose)
{
	struct files *f = xcalloc(1, sizeof(*f));

	f->control = control;
	f->is_none = control < 0;
	f->places = places;
	f->purpose = *purpose;
	f->spending =
		(struct spending){ .most_ns = purpose->most_of_user_ns, .after = purpose->after };
	for (size_t i = 0; i < MOST_PENDING; i++)
		f->pending[i].area = -1;
	f->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->over >= 0)
		return f;
	files_free(f);
	return NULL;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	log_few_end(&f->failed, "files whose readers failed");
	log_few_end(&f->words, "files that are not read as a whole");
	spending_fini(&f->spending);
	for (size_t i = 0; i < MOST_PENDING; i++)
		cleanup_close_fd(&f->pending[i].area);
	cleanup_close_fd(&f->control);
	cleanup_close_fd(&f->over);
	free(f->to_close);
	free(f);
}

void files_set_manner(struct files *f, const struct files_manner *manner)
{
	f->manner = *manner;
}

void files_end(struct files *f)
{
	if (!f)
		return;
	__atomic_store_n(&f->is_over, true, __ATOMIC_RELAXED);
	(void)eventfd_write(f->over, 1);
}

static void send_order(struct files *f, enum order_what what, uint32_t child)
{
	const struct order order = { .what = what, .child = child };

	/* If this fails, the zygote has gone, with all children. */
	if (f->control >= 0)
		(void)!packet_send(f->control, &order, sizeof(order), -1);
}

void files_hurry(struct files *f)
{
	send_order(f, ORDER_HURRY, 0);
}

bool files_is_passing(int err)
{
	return err == -EAGAIN || err == -ESTALE || err == -ENOTCONN || err == -ECANCELED ||
	       err == -ETIME || err == -EINTR || err == -EMFILE || err == -ENFILE ||
	       err == -ENOMEM || err == -EDQUOT;
}

/* --- outcomes --- */

static bool is_finder(const struct pending *p)
{
	return p->ask.question.what <= QUESTION_LIST;
}

/* The answer, or what there is of it. False: it is not whole, or makes no sense. */
static bool read_answer(const struct pending *p, struct answer *ret)
{
	if (area_read(p->area, 0, ret, sizeof(*ret)) < 0) {
		*ret = (struct answer){};
		return false;
	}
	return (p->news.what == NEWS_STOPPED ||
		(p->news.what == NEWS_ENDED && p->news.status == 0)) &&
	       ret->number == p->ask.question.number && ret->result <= 0 &&
	       ret->result >= -LARGEST_ERRNO && ret->n_bytes <= AREA_BYTES - sizeof(*ret) &&
	       memchr(ret->words, 0, sizeof(ret->words));
}

/* Where the child was. A parser that a hostile file took over can name places of @user only. */
static uint64_t place_of_answer(const struct question *q, const struct answer *a)
{
	switch (a->step) {
	case STEP_MAPPED:
		return place_of(STEP_MAPPED, a->dev, q->user);
	case STEP_HANDLE:
		return place_of(STEP_HANDLE, q->expected.dev, 0);
	case STEP_OPEN:
	case STEP_CONTENTS:
		return place_of(STEP_CONTENTS, q->expected.dev, q->user);
	case STEP_PATH:
		return place_of(STEP_PATH, 0, q->user);
	case STEP_DEBUG:
	case STEP_PERF:
		return place_of(a->step, (uint32_t)q->root, q->user);
	default:
		return 0;
	}
}

/* Was its time over while it slept in a call? Not if it was at work, or waited for a CPU. */
static bool is_silence(const struct pending *p)
{
	return p->is_late && (p->news.state == 'S' || p->news.state == 'D');
}

/* Note what the first outcome tells about places, and that a child that hung has ended. */
static void judge_places(struct files *f, struct pending *p)
{
	const struct question *q = &p->ask.question;
	struct answer answer;
	const bool is_whole = read_answer(p, &answer);
	const uint64_t place = place_of_answer(q, &answer);

	if (p->is_hung && p->news.what == NEWS_ENDED) {
		places_note_hung(f->places, place, -1);
		return;
	}
	if (p->is_over)
		return;
	for (size_t i = 0; is_whole && i < p->ask.n_places; i++)
		places_note_answer(f->places, p->ask.places[i]);
	if (is_whole || !place || !is_silence(p))
		return;
	places_note_silence(f->places, place);
	p->is_hung = p->news.what == NEWS_LEFT && p->news.state == 'D';
	if (p->is_hung)
		places_note_hung(f->places, place, 1);
}

bool is_handle(uint32_t handle)
{
	return handle >= FIRST_HANDLE && handle < MOST_HANDLES;
}

/* A handle of a file that nobody waits for any more. */
static void close_late_handle(struct files *f, const struct pending *p)
{
	const uint32_t what = p->ask.question.what;
	struct answer answer;

	if ((what == QUESTION_OPEN || what == QUESTION_ROOT) && read_answer(p, &answer) &&
	    !answer.result && is_handle(answer.n))
		array_push(f->to_close, f->n_to_close, f->to_close_capacity, (int32_t)answer.n);
}

static void kill_child(struct files *f, struct pending *p)
{
	if (!p->killed_at)
		send_order(f, ORDER_KILL, p->child);
	p->killed_at = p->killed_at ? p->killed_at : clock_ns(CLOCK_MONOTONIC);
	p->is_parked = false;
}

/* Its outcome was read, or is not wanted. */
static void end_question(struct files *f, struct pending *p)
{
	if (p->news.what == NEWS_ENDED || p->news.what == NEWS_REFUSED) {
		cleanup_close_fd(&p->area);
		*p = (struct pending){ .area = -1 };
		return;
	}
	p->is_given_up = true; /* a child still has the area */
	kill_child(f, p);
}

static void take_news(struct files *f, const struct news *news)
{
	for (size_t i = 0; i < MOST_PENDING; i++) {
		struct pending *p = &f->pending[i];

		if (p->area < 0 || p->child != news->child)
			continue;
		p->news = *news;
		judge_places(f, p);
		p->is_over = true;
		if (!p->is_given_up)
			return;
		close_late_handle(f, p);
		end_question(f, p);
	}
}

/* The zygote has ended, with all its children. */
static void lose_zygote(struct files *f)
{
	cleanup_close_fd(&f->control);
	for (size_t i = 0; i < MOST_PENDING; i++) {
		f->pending[i].news = (struct news){ .what = NEWS_REFUSED, .status = -EPIPE };
		f->pending[i].is_over = true;
	}
}

/* A child that reads may take longer than one that looks for files and opens them. */
static uint64_t bound_of(const struct files *f, const struct pending *p)
{
	struct answer answer;

	(void)read_answer(p, &answer);
	return answer.step == STEP_CONTENTS ? f->purpose.parser_ns : f->purpose.finder_ns;
}

/* When to look at @p again, at the latest. Kills its child if that is late. */
static uint64_t deadline_of(struct files *f, struct pending *p)
{
	uint64_t late = p->began + f->purpose.finder_ns;

	if (!p->killed_at && clock_ns(CLOCK_MONOTONIC) >= late)
		late = p->began + bound_of(f, p);
	if (!p->killed_at && clock_ns(CLOCK_MONOTONIC) >= late) {
		p->is_late = true;
		kill_child(f, p);
	}
	return p->killed_at ? p->killed_at + NEWS_NS : late;
}

/* Questions that nobody waits for have the same time as others. */
static void take_all_news(struct files *f)
{
	struct news news;
	int err = 0;

	while (f->control >= 0 &&
	       (err = packet_receive(f->control, &news, sizeof(news), NULL)) == 0)
		take_news(f, &news);
	if (f->control >= 0 && err != -EAGAIN)
		lose_zygote(f);
	for (size_t i = 0; i < MOST_PENDING; i++) {
		struct pending *p = &f->pending[i];

		if (p->area >= 0 && !p->is_over)
			(void)deadline_of(f, p);
		if (p->is_parked && clock_ns(CLOCK_MONOTONIC) - p->began > PARKED_NS)
			kill_child(f, p);
	}
}

/* --- asking --- */

static int fail_without_child(struct files *f, struct error *e, const char *words)
{
	const int err = error_set(e, -ENOTCONN, "no helper: %s", words);

	log_warn_once("%s: %s", f->purpose.lost, e->text);
	return err;
}

static int fail_over(struct error *e)
{
	return error_set(e, -ECANCELED, "the run is ending");
}

int fail_unanswered(struct error *e)
{
	return error_set(e, -EAGAIN, "its file system does not answer");
}

/*
 * The run ends, and has no time left for this question (struct files_manner). Files that are closed
 * or looked at again cost no names.
 */
static int end_early(const struct question *q, struct error *e)
{
	if (q->what != QUESTION_CLOSE && q->what != QUESTION_FACTS)
		log_warn_once("no symbols for some files: reading them takes too long at the end "
			      "of a run");
	return error_set(e, -EINTR, "the run has no more time for it");
}

/* Two questions of one queue are about files of one user, or about handles on one device. */
static bool is_of_one_queue(const struct question *a, const struct question *b)
{
	if (a->what == QUESTION_FACTS || a->what == QUESTION_CLOSE)
		return a->what == b->what && a->expected.dev == b->expected.dev;
	return b->what != QUESTION_FACTS && b->what != QUESTION_CLOSE && a->user == b->user;
}

/* An earlier question of the same queue that has no outcome yet, though nobody waits for it. */
static struct pending *find_earlier(struct files *f, const struct question *q)
{
	for (size_t i = 0; i < MOST_PENDING; i++)
		if (f->pending[i].area >= 0 && !f->pending[i].is_over &&
		    is_of_one_queue(&f->pending[i].ask.question, q))
			return &f->pending[i];
	return NULL;
}

static int make_area(int *ret, struct error *e)
{
	cleanup_close int area = -1;
	const int err = area_new(AREA_BYTES, &area);

	if (!err && area_size(area) < LEAST_AREA)
		return error_set(e, -EFBIG, "files may not have %u KiB (ulimit -f)",
				 LEAST_AREA / 1024);
	if (err)
		return error_set(e, err, "no helper: %s", error_words(err));
	*ret = TAKE_FD(area);
	return 0;
}

static int write_question(const struct pending *p, struct error *e)
{
	const bool is_reading = p->goes_on && !is_finder(p);
	const struct {
		struct answer none;
		struct question question;
	} head = { { .step = is_reading ? STEP_CONTENTS : STEP_NONE }, p->ask.question };
	int err = area_write(p->area, 0, &head, sizeof(head));

	if (!err && head.question.n_bytes)
		err = area_write(p->area, sizeof(head), p->ask.payload, head.question.n_bytes);
	return err ? error_set(e, err, "no helper: %s", error_words(err)) : 0;
}

/* Can the child of @a, which stays, answer @b? */
static bool may_go_on(const struct ask *a, const struct ask *b)
{
	if (b->question.what <= QUESTION_FACTS)
		return a->question.what <= QUESTION_FACTS;
	if (b->question.what == QUESTION_LIST)
		return a->question.what == QUESTION_LIST;
	return a->file && a->file == b->file && a->question.handle == b->question.handle &&
	       file_fact_is_equal(&a->question.expected, &b->question.expected);
}

/* A child that stayed and can answer @a; or else a free slot, or NULL. */
static struct pending *find_place(struct files *f, const struct ask *a)
{
	struct pending *unused = NULL;

	for (size_t i = 0; i < MOST_PENDING; i++) {
		struct pending *p = &f->pending[i];

		if (p->is_parked && may_go_on(&p->ask, a))
			return p;
		if (p->area < 0)
			unused = p;
	}
	return unused;
}

static int send_question(struct files *f, const struct ask *a, struct pending **ret,
			 struct error *e)
{
	struct pending *p = find_place(f, a);
	int err = 0;

	if (!p || find_earlier(f, &a->question))
		return fail_unanswered(e);
	f->last_number += f->last_number == UINT32_MAX ? 2 : 1;

	const bool goes_on = p->is_parked;
	struct pending next = { .ask = *a,
				.goes_on = goes_on,
				.child = goes_on ? p->child : f->last_number,
				.area = p->area,
				.began = clock_ns(CLOCK_MONOTONIC),
				.cpu_ns = p->news.cpu_ns };
	const struct order order = { .what = goes_on ? ORDER_GO_ON : ORDER_ASK,
				     .child = next.child,
				     .question = a->question.what,
				     .stays = a->file || is_finder(&next) ||
					      a->question.what == QUESTION_TABLE };

	next.ask.question.number = f->last_number;
	next.ask.question.flags |= order.stays ? STAYS : 0;
	if (!goes_on)
		err = make_area(&next.area, e);
	if (!err)
		err = write_question(&next, e);
	if (err && !goes_on)
		cleanup_close_fd(&next.area);
	if (err)
		return err;
	*p = next;
	if (packet_send(f->control, &order, sizeof(order), goes_on ? -1 : p->area) < 0)
		lose_zygote(f);
	*ret = p;
	return 0;
}

/* Kill the one that was asked first, if those that stay are too many or too large. */
static bool end_oldest(struct files *f)
{
	struct pending *oldest = NULL;
	uint64_t bytes = 0;
	unsigned n = 0;

	for (size_t i = 0; i < MOST_PENDING; i++) {
		struct pending *p = &f->pending[i];

		if (!p->is_parked)
			continue;
		n++;
		bytes += p->news.memory;
		oldest = oldest && oldest->began < p->began ? oldest : p;
	}
	if (n <= MOST_PARKED && bytes <= PARKED_BYTES)
		return false;
	kill_child(f, oldest);
	return true;
}

/*
 * It stays for the next question, unless it has taken very much time or memory. Its answer had
 * @n_bytes.
 */
static void park(struct files *f, struct pending *p, uint64_t n_bytes)
{
	p->is_given_up = p->is_parked = true;
	/* A parser that was taken over may have filled it. */
	if (!is_finder(p) || n_bytes > KEPT_BYTES)
		area_clear(p->area, AREA_BYTES);
	if (p->killed_at || p->news.cpu_ns > PARKED_CPU_NS || p->news.memory > PARKED_BYTES)
		kill_child(f, p);
	while (end_oldest(f))
		;
}

/* How long poll(2) may wait. */
static int wait_ms(const struct files *f, uint64_t until)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint64_t left = now < until ? until - now : 0;
	const uint64_t ms = (left + NS_PER_S / 1000 - 1) / (NS_PER_S / 1000);

	return f->manner.serve && ms > FILES_SERVE_MS ? FILES_SERVE_MS : (int)ms;
}

/* Nobody waits for @p any more, because the patience is over. */
static int lose_patience(struct files *f, struct pending *p, struct error *e)
{
	struct answer answer;

	(void)read_answer(p, &answer);

	const int state = answer.step ? process_state((pid_t)answer.pid) : 0;
	const bool is_in_call = state == 'S' || state == 'D';

	log_warn_once("%s: %s",
		      is_in_call ? "a file system does not answer in time"
				 : "helpers have too little CPU time to look at files in time",
		      f->purpose.lost);
	p->is_given_up = true;
	return error_set(e, -ETIME, "no answer in time");
}

/* Wait for the outcome of @p. After an error, nobody waits for it any more. */
static int wait_for_outcome(struct files *f, struct pending *p, struct error *e)
{
	const struct files_manner *m = &f->manner;
	const uint64_t patience = m->patience_ns ? p->began + m->patience_ns : UINT64_MAX;
	struct files_wait wait = { .is_roots = p->ask.question.expected.is_roots };

	for (take_all_news(f); !p->is_over; take_all_news(f)) {
		const uint64_t before = clock_ns(CLOCK_MONOTONIC), late = deadline_of(f, p);
		struct pollfd all[] = { { .fd = f->control, .events = POLLIN },
					{ .fd = f->over, .events = POLLIN } };
		const int n = poll(all, 2, wait_ms(f, earlier_time(late, patience)));
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);

		wait.ns = now - before;
		wait.all_ns += wait.ns;
		p->is_given_up =
			all[1].revents || (m->is_enough && m->is_enough(m->context, &wait));
		if (n > 0 && !p->is_given_up)
			continue;
		if (p->is_given_up) {
			kill_child(f, p);
			return n > 0 && all[1].revents ? fail_over(e)
						       : end_early(&p->ask.question, e);
		}
		if (now >= patience)
			return lose_patience(f, p, e);
		if (p->killed_at && now >= p->killed_at + NEWS_NS)
			lose_zygote(f); /* somebody has stopped it */
		if (m->serve)
			m->serve(m->context);
	}
	return 0;
}

/* Whoever has patience waits for an earlier question, too. */
static int wait_for_earlier(struct files *f, const struct question *q, struct error *e)
{
	struct pending *p;
	int err = 0;

	while (!err && !f->manner.patience_ns && (p = find_earlier(f, q))) {
		p->is_given_up = false;
		err = wait_for_outcome(f, p, e);
		if (err)
			continue;
		close_late_handle(f, p);
		end_question(f, p);
	}
	return err;
}

/* For messages: how the child failed. */
static void explain(const struct pending *p, char *to, size_t size)
{
	const int status = p->news.status;

	if (is_silence(p))
		(void)snprintf(to, size, "its reader waits for a file system");
	else if (p->killed_at || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		(void)snprintf(to, size, "its reader takes too long");
	else if (WIFSIGNALED(status))
		(void)snprintf(to, size, "its reader was ended by signal %d (%s)", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	else
		(void)snprintf(to, size, "its reader sent an invalid answer");
}

static int read_refusal(struct files *f, const struct news *news, struct error *e)
{
	return fail_without_child(f, e,
				  news->status == -EPIPE   ? "the process that makes them has ended"
				  : news->status == -EBUSY ? "too many wait for file systems that "
							     "do not answer"
							   : error_start_words(news->status));
}

/* Fill in @ret by the outcome of @p. */
static int read_outcome(struct files *f, const struct pending *p, struct reply *ret,
			struct error *e)
{
	if (p->news.what == NEWS_REFUSED)
		return read_refusal(f, &p->news, e);
	if (p->news.cpu_ns > p->cpu_ns)
		ret->cpu_ns = p->news.cpu_ns - p->cpu_ns;
	if (read_answer(p, &ret->answer)) {
		ret->data = xmalloc(ret->answer.n_bytes + 1);
		ret->data[ret->answer.n_bytes] = '\0'; /* it may be text */
		if (area_read(p->area, sizeof(ret->answer), ret->data, ret->answer.n_bytes) == 0)
			return 0;
		cleanup_free_p(&ret->data);
	}
	ret->answer = (struct answer){ .step = ret->answer.step };
	explain(p, ret->why, sizeof(ret->why));
	/* No file ends a finder, so something else did. */
	return error_set(e, is_finder(p) || is_silence(p) ? -EAGAIN : -EIO, "%s", ret->why);
}

/* For --debug: some kernels and containers lack layers. */
static void log_missing_layers(struct files *f, const struct answer *a)
{
	if (f->has_logged_layers)
		return;
	f->has_logged_layers = true;
	if (!(a->layers & LAYER_SECCOMP))
		log_debug("parsers have no seccomp filter");
	if (!(a->layers & LAYER_LANDLOCK))
		log_debug("parsers are not kept from paths by Landlock");
}

/* Is @err of a child that the machine has no descriptors left? Warns once. */
static void note_shortage(const struct files *f, int err)
{
	if (err == -EMFILE || err == -ENFILE)
		log_warn_once("%s: open files: %s", f->purpose.lost, error_words(err));
}

/* Send @a, and read its outcome. *@ret_is_lost: its child ended for a reason of the past. */
static int ask_once(struct files *f, const struct ask *a, struct reply *ret, bool *ret_is_lost,
		    struct error *e)
{
	struct pending *p = NULL;
	int err = send_question(f, a, &p, e);

	if (!p)
		return err;

	const uint64_t began = p->began;

	err = wait_for_outcome(f, p, e);
	ret->took_ns = clock_ns(CLOCK_MONOTONIC) - began;
	if (err)
		return err;
	err = read_outcome(f, p, ret, e);
	/* Somebody ended it meanwhile, or it has used up its CPU time. */
	*ret_is_lost = err && p->goes_on && !p->is_late && p->news.what != NEWS_REFUSED;
	if (!err && p->news.what == NEWS_STOPPED && (a->file || is_finder(p)))
		park(f, p, ret->answer.n_bytes);
	else
		end_question(f, p);
	return err;
}

int ask_child(struct files *f, const struct ask *a, struct reply *ret, struct error *e)
{
	const struct files_wait none = { .is_roots = a->question.expected.is_roots };
	bool is_lost = true;
	int err;

	*ret = (struct reply){};
	if (f->is_none)
		return error_set(e, -ENOTCONN, "there are no helpers");
	if (__atomic_load_n(&f->is_over, __ATOMIC_RELAXED))
		return fail_over(e);
	if (f->manner.serve)
		f->manner.serve(f->manner.context);
	if (f->manner.is_enough && f->manner.is_enough(f->manner.context, &none))
		return end_early(&a->question, e);
	take_all_news(f);
	err = wait_for_earlier(f, &a->question, e);
	if (err)
		return err;
	if (f->control < 0)
		return fail_without_child(f, e, "the process that makes them has ended");
	for (int i = 0; i < 2 && is_lost; i++) {
		is_lost = false;
		err = ask_once(f, a, ret, &is_lost, e);
	}
	if (!err && ret->answer.layers)
		log_missing_layers(f, &ret->answer);
	if (!err)
		note_shortage(f, ret->answer.result);
	return err;
}

int ask_for_result(struct files *f, const struct ask *a, struct reply *ret, struct error *e)
{
	const int err = ask_child(f, a, ret, e);

	if (err || !ret->answer.result)
		return err;
	cleanup_free_p(&ret->data);
	return error_set(e, ret->answer.result, "%.95s",
			 ret->answer.words[0] ? ret->answer.words
					      : error_words(ret->answer.result));
}

int refuse_answer(struct reply *r, struct error *e)
{
	cleanup_free_p(&r->data);
	(void)snprintf(r->why, sizeof(r->why), "its reader sent an invalid answer");
	return error_set(e, -EIO, "%s", r->why);
}

bool try_place(struct files *f, struct ask *a, uint64_t place)
{
	if (!places_may_ask(f->places, place))
		return false;
	a->places[a->n_places++] = place;
	return true;
}

void skip_silent(struct files *f, struct ask *a, const struct mapping *m)
{
	const uint32_t user = a->question.user;

	if (m && !try_place(f, a, place_of(STEP_MAPPED, m->dev, user)))
		a->question.flags |= SKIP_MAPPED;
	if (!try_place(f, a, place_of(STEP_PATH, 0, user)))
		a->question.flags |= SKIP_PATHS;
}
