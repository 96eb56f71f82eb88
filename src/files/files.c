// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A question's life:
 *
 *	ask --> a child works --> NEWS_STOPPED or NEWS_ENDED: its answer counts, if it is whole
 *	          |  is late, or nobody waits any more: ORDER_KILL --> NEWS_KILLED
 *	          +--> NEWS_ENDED, or 0.2 s without it: the child hangs in a file system
 *
 * The asker trusts no report of a child about itself: the zygote tells its end and its CPU time. A
 * question whose asker lost patience goes on; its outcome is noted when it comes.
 *
 * A finder stays after its answer, because a new process costs more than its work. A parser of
 * names stays with what it knows of the file: to index the symbols of a large library takes as long
 * as to name a hundred thousand places in it.
 */
#include "files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "files/zygote.h"

/* After an order to kill a child, the zygote tells that it has done so. */
#define NEWS_NS (2 * NS_PER_S)

/* Children that stay. */
#define MOST_PARKED 16
#define PARKED_BYTES (512ULL << 20)                /* all of them */
#define PARKED_NS (60 * NS_PER_S)                  /* without a question */
#define PARKED_CPU_NS (CHILD_CPU_S * NS_PER_S / 2) /* a child that took more does not stay */
#define KEPT_BYTES 65536 /* the most that an area keeps for the next question */

#define MOST_PENDING 32
#define MOST_ROOTS 128

/* A question, and its outcome. */
struct ask {
	struct question question;
	const void *payload;
	uint64_t file; /* a hash of what the parser opens: only then it stays */

	struct answer answer;
	char *data;      /* of the answer, with a NUL behind it */
	uint64_t cpu_ns; /* of the child */
	uint64_t took_ns;
};

static void ask_fini(struct ask *a)
{
	free(a->data);
}

/* A question that was asked, and its child. */
struct pending {
	struct ask ask;
	uint32_t child; /* struct order */
	int area;       /* -1: this slot is free */
	uint64_t began;
	uint64_t cpu_ns;    /* of the child, for its earlier questions */
	uint64_t killed_at; /* ns: when it was told, and then when the zygote has done it; 0: not */
	bool goes_on;       /* the child has answered a question before */
	bool is_late;       /* it was killed because its time was over */
	bool is_killed;     /* NEWS_KILLED has come */
	bool is_parked;     /* the child may be asked again */
	bool is_given_up;   /* nobody waits for it any more */
	bool is_over;       /* @news has its outcome */
	uint64_t hung_at;   /* the place at which the child hangs; 0: none */
	struct news news;
};

struct root {
	struct root_identity identity;
	int handle;
};

struct files {
	int control;  /* -1: there are no children */
	bool is_none; /* there never were */
	bool is_over; /* files_end() was called; */
	int over;     /* then this is readable */
	struct places *places;
	struct files_purpose purpose;
	struct files_manner manner;
	struct pending pending[MOST_PENDING];
	uint32_t last_number;
	struct spending spending;
	struct log_few words;  /* warnings about files that were read in part */
	struct log_few failed; /* files and lists at which children failed */
	int32_t *to_close;
	size_t n_to_close, to_close_capacity;
	struct root roots[MOST_ROOTS];
	size_t n_roots;
};

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
	log_few_end(&f->failed, "files and processes whose readers failed");
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
	if (pread(p->area, ret, sizeof(*ret), 0) != sizeof(*ret)) {
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

/* Was it at work until its time was over? Then its wait was one for a CPU, so far as one can tell.
 */
static bool is_at_work(const struct pending *p)
{
	return (p->is_late && p->news.state == 'R') ||
	       (WIFSIGNALED(p->news.status) && WTERMSIG(p->news.status) == SIGXCPU);
}

/* Note what the first outcome tells about places, and that a child that hung has ended. */
static void judge_places(struct files *f, struct pending *p)
{
	struct answer answer;
	const bool is_whole = read_answer(p, &answer);
	const uint64_t place = place_of_answer(&p->ask.question, &answer);

	if (p->hung_at && p->news.what == NEWS_ENDED) {
		places_note_end(f->places, p->hung_at);
		return;
	}
	if (p->is_over || is_whole || !place || !is_silence(p))
		return;
	p->hung_at = p->news.what == NEWS_KILLED ? place : 0;
	places_note_silence(f->places, place, p->hung_at);
}

static bool is_handle(uint32_t handle)
{
	return handle >= FIRST_HANDLE && handle < MOST_HANDLES;
}

/* A handle of a file that nobody waits for any more. */
static void close_late_handle(struct files *f, const struct pending *p)
{
	struct answer answer;

	if (p->ask.question.what == QUESTION_OPEN && read_answer(p, &answer) && !answer.result &&
	    is_handle(answer.n))
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

/* The news about @p are its outcome. */
static void take_outcome(struct files *f, struct pending *p)
{
	judge_places(f, p);
	p->is_over = true;
	if (!p->is_given_up)
		return;
	close_late_handle(f, p);
	end_question(f, p);
}

static void take_news(struct files *f, const struct news *news)
{
	for (size_t i = 0; i < MOST_PENDING; i++) {
		struct pending *p = &f->pending[i];

		if (p->area < 0 || p->child != news->child)
			continue;
		p->is_killed |= news->what == NEWS_KILLED;
		if (news->what == NEWS_KILLED)
			p->killed_at = clock_ns(CLOCK_MONOTONIC);
		if (news->what == NEWS_KILLED && p->is_over)
			return;
		p->news = *news;
		if (news->what != NEWS_KILLED)
			take_outcome(f, p);
		return;
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
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t late = p->began + f->purpose.finder_ns;

	if (!p->killed_at && now >= late)
		late = p->began + bound_of(f, p);
	if (!p->killed_at && now >= late) {
		p->is_late = true;
		kill_child(f, p);
	}
	if (!p->killed_at)
		return late;
	if (p->is_killed && now >= p->killed_at + ZYGOTE_LEFT_AFTER_NS)
		take_outcome(f, p); /* it is left behind */
	return p->killed_at + (p->is_killed ? ZYGOTE_LEFT_AFTER_NS : NEWS_NS);
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

static int fail_without_child(const struct files *f, struct error *e, const char *words)
{
	const int err = error_set(e, -ENOTCONN, "no helper: %s", words);

	log_warn_once("%s: %s", f->purpose.lost, e->text);
	return err;
}

static int fail_over(struct error *e)
{
	return error_set(e, -ECANCELED, "the run is ending");
}

static int fail_unanswered(struct error *e)
{
	return error_set(e, -EAGAIN, "its file system does not answer");
}

/* Is it enough (struct files_manner)? Files that are closed or looked at again cost no names. */
static bool is_enough(const struct files *f, const struct question *q, uint64_t ns, uint64_t all_ns)
{
	const struct files_manner *m = &f->manner;
	const bool is = m->is_enough && m->is_enough(m->context, q->expected.is_roots, ns, all_ns);

	if (is && q->flags & NAMES_LINES)
		log_warn_once("no source lines for some files: reading them takes too long at the "
			      "end of a run");
	else if (is && q->what != QUESTION_CLOSE && q->what != QUESTION_FACT)
		log_warn_once("no symbols for some files: reading them takes too long at the end "
			      "of a run");
	return is;
}

static int fail_enough(struct error *e)
{
	return error_set(e, -EINTR, "the run has no more time for it");
}

/* Two questions of one queue are about files of one user, or about handles on one device. */
static bool is_of_one_queue(const struct question *a, const struct question *b)
{
	if (a->what == QUESTION_FACT || a->what == QUESTION_CLOSE)
		return a->what == b->what && a->expected.dev == b->expected.dev;
	return b->what != QUESTION_FACT && b->what != QUESTION_CLOSE && a->user == b->user;
}

/* Is there an earlier question of the same queue, which nobody waits for any more? */
static bool is_held_up(const struct files *f, const struct question *q)
{
	for (size_t i = 0; i < MOST_PENDING; i++)
		if (f->pending[i].area >= 0 && !f->pending[i].is_over &&
		    is_of_one_queue(&f->pending[i].ask.question, q))
			return true;
	return false;
}

static int make_area(const struct files *f, int *ret, struct error *e)
{
	const int err = area_new(AREA_BYTES, ret);

	return !err ? 0
		    : fail_without_child(f, e,
					 err == -EFBIG ? "files may not have 80 MiB (ulimit -f)"
						       : error_words(err));
}

static int write_question(const struct pending *p, struct error *e)
{
	const bool is_reading = p->goes_on && !is_finder(p);
	const struct {
		struct answer none;
		struct question question;
	} head = { { .step = is_reading ? STEP_CONTENTS : STEP_NONE }, p->ask.question };
	const size_t n = head.question.n_bytes;

	if (pwrite(p->area, &head, sizeof(head), 0) == sizeof(head) &&
	    (!n || pwrite(p->area, p->ask.payload, n, sizeof(head)) == (ssize_t)n))
		return 0;
	return error_errno(e, "no helper");
}

/* Can the child of @a, which stays, answer @b? */
static bool may_go_on(const struct ask *a, const struct ask *b)
{
	if (b->question.what <= QUESTION_FACT)
		return a->question.what <= QUESTION_FACT;
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

/* Whoever has patience does not add to what is held up. */
static int send_question(struct files *f, const struct ask *a, struct pending **ret,
			 struct error *e)
{
	struct pending *p = find_place(f, a);
	int err = 0;

	if (!p || (f->manner.patience_ns && is_held_up(f, &a->question)))
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
				     .question = a->question.what };

	next.ask.question.number = f->last_number;
	if (a->file || is_finder(&next) || a->question.what == QUESTION_TABLE)
		next.ask.question.flags |= STAYS;
	if (!goes_on)
		err = make_area(f, &next.area, e);
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
		(void)fallocate(p->area, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, AREA_BYTES);
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

/* Wait for the outcome of @p. After an error, nobody waits for it any more. */
static int wait_for_outcome(struct files *f, struct pending *p, struct error *e)
{
	const struct files_manner *m = &f->manner;
	const uint64_t patience = m->patience_ns ? p->began + m->patience_ns : UINT64_MAX;
	uint64_t all_ns = 0;

	for (take_all_news(f); !p->is_over; take_all_news(f)) {
		const uint64_t before = clock_ns(CLOCK_MONOTONIC), late = deadline_of(f, p);
		struct pollfd all[] = { { .fd = f->control, .events = POLLIN },
					{ .fd = f->over, .events = POLLIN } };
		const int n = poll(all, 2, wait_ms(f, earlier_time(late, patience)));
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);
		const bool is_over = n > 0 && all[1].revents;

		all_ns += now - before;
		if (is_over || is_enough(f, &p->ask.question, now - before, all_ns)) {
			p->is_given_up = true;
			kill_child(f, p);
			return is_over ? fail_over(e) : fail_enough(e);
		}
		if (n > 0)
			continue;
		if (now >= patience) {
			log_warn_once("a file system does not answer in time, or helpers have too "
				      "little CPU time: %s",
				      f->purpose.lost);
			p->is_given_up = true;
			return error_set(e, -ETIME, "no answer in time");
		}
		if (p->killed_at && !p->is_killed && now >= p->killed_at + NEWS_NS)
			lose_zygote(f); /* somebody has stopped it */
		if (m->serve)
			m->serve(m->context);
	}
	return 0;
}

/* The answer makes no sense. */
static int refuse_answer(int err, struct error *e)
{
	return error_set(e, err, "its reader sent an invalid answer");
}

/* No file ends a finder, so something else did. */
static int explain(const struct pending *p, struct error *e)
{
	const int status = p->news.status, err = is_finder(p) || is_silence(p) ? -EAGAIN : -EIO;

	if (is_silence(p))
		return error_set(e, err, "its reader waits for a file system");
	if (p->killed_at || is_at_work(p))
		return error_set(e, err, "its reader takes too long");
	if (WIFSIGNALED(status))
		return error_set(e, err, "its reader was ended by signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	if (WIFEXITED(status) && WEXITSTATUS(status)) /* memory_or_exit(), and libdw's like */
		return error_set(e, err, "its reader ended early, as it does without memory");
	return refuse_answer(err, e);
}

static int read_refusal(const struct files *f, const struct news *news, struct error *e)
{
	return fail_without_child(f, e,
				  news->status == -EPIPE   ? "the process that makes them has ended"
				  : news->status == -EBUSY ? "too many wait for file systems that "
							     "do not answer"
							   : error_start_words(news->status));
}

/* Fill in @a by the outcome of @p. */
static int read_outcome(const struct files *f, const struct pending *p, struct ask *a,
			struct error *e)
{
	if (p->news.what == NEWS_REFUSED)
		return read_refusal(f, &p->news, e);
	if (p->news.cpu_ns > p->cpu_ns)
		a->cpu_ns = p->news.cpu_ns - p->cpu_ns;
	if (read_answer(p, &a->answer)) {
		a->data = xmalloc(a->answer.n_bytes + 1);
		a->data[a->answer.n_bytes] = '\0'; /* it may be text */
		if (pread(p->area, a->data, a->answer.n_bytes, sizeof(a->answer)) ==
		    (ssize_t)a->answer.n_bytes)
			return 0;
		cleanup_free_p(&a->data);
	}
	a->answer = (struct answer){ .step = a->answer.step };
	return explain(p, e);
}

/* Send @a, and read its outcome. *@ret_is_lost: its child ended for a reason of the past. */
static int ask_once(struct files *f, struct ask *a, bool *ret_is_lost, struct error *e)
{
	struct pending *p = NULL;
	int err = send_question(f, a, &p, e);

	if (!p)
		return err;

	const uint64_t began = p->began;

	err = wait_for_outcome(f, p, e);
	a->took_ns = clock_ns(CLOCK_MONOTONIC) - began;
	if (err)
		return err;
	err = read_outcome(f, p, a, e);
	if (err && is_at_work(p))
		a->cpu_ns = a->took_ns;
	/* Somebody ended it meanwhile, or it has used up its CPU time. */
	*ret_is_lost = err && p->goes_on && !p->is_late && p->news.what != NEWS_REFUSED;
	if (!err && p->news.what == NEWS_STOPPED && (a->file || is_finder(p)))
		park(f, p, a->answer.n_bytes);
	else
		end_question(f, p);
	return err;
}

/*
 * Ask, and wait for the answer. Call ask_fini() then. Errors: passing ones; -EIO: the child failed.
 * The result of the answer is no error of this function.
 */
static int ask_child(struct files *f, struct ask *a, struct error *e)
{
	bool is_lost = true;
	int err = 0;

	if (f->is_none)
		return error_set(e, -ENOTCONN, "there are no helpers");
	if (__atomic_load_n(&f->is_over, __ATOMIC_RELAXED))
		return fail_over(e);
	if (f->manner.serve)
		f->manner.serve(f->manner.context);
	if (is_enough(f, &a->question, 0, 0))
		return fail_enough(e);
	take_all_news(f);
	if (f->control < 0)
		return fail_without_child(f, e, "the process that makes them has ended");
	for (int i = 0; i < 2 && is_lost; i++) {
		is_lost = false;
		err = ask_once(f, a, &is_lost, e);
	}
	if (err)
		return err;
	if (a->answer.result == -EMFILE || a->answer.result == -ENFILE)
		log_warn_once("%s: open files: %s", f->purpose.lost, error_words(a->answer.result));
	return 0;
}

/* The same, with the answer's result as an error, too. */
static int ask_for_result(struct files *f, struct ask *a, struct error *e)
{
	const int err = ask_child(f, a, e), result = a->answer.result;

	if (err || !result)
		return err;
	return error_set(e, result, "%.95s",
			 a->answer.words[0] ? a->answer.words : error_words(result));
}

/* Leave out where nothing answers. @m: a mapping of a process of the question's user. */
static void skip_silent(struct files *f, struct ask *a, const struct mapping *m)
{
	const uint32_t user = a->question.user;

	if (m && !places_may_ask(f->places, place_of(STEP_MAPPED, m->dev, user)))
		a->question.flags |= SKIP_MAPPED;
	if (!places_may_ask(f->places, place_of(STEP_PATH, 0, user)))
		a->question.flags |= SKIP_PATHS;
}

/* --- mappings --- */

/* Devices that turn out to be silent are left out the next time. */
#define MOST_SILENT 16
#define MOST_TRIES 3

int files_list(struct files *f, uint32_t pid, bool has_states, struct file_list *ret,
	       struct error *e)
{
	const uint32_t user = process_user(pid);
	const struct question q = { .what = QUESTION_LIST,
				    .flags = has_states ? LIST_STATES : 0,
				    .pid = pid,
				    .user = user,
				    .root = HANDLE_NONE };
	int err = spending_check(&f->spending, user);

	*ret = (struct file_list){};
	if (err)
		return error_set(e, err, "its user's processes took too much time");
	for (unsigned i = 0; i < MOST_TRIES; i++) {
		uint64_t devices[MOST_SILENT];
		cleanup(ask_fini) struct ask a = { .question = q, .payload = devices };

		if (has_states) {
			a.question.n = (uint32_t)places_silent_devices(f->places, user, devices,
								       MOST_SILENT);
			a.question.n_bytes = a.question.n * sizeof(*devices);
			skip_silent(f, &a, NULL);
		}
		err = ask_for_result(f, &a, e);
		ret->cost += a.answer.number ? a.cpu_ns : a.took_ns;
		if (a.took_ns > SPENDING_LONG_WAIT_NS)
			spending_add(&f->spending, user, 0, a.took_ns);
		if (!err && !list_read(a.data, a.answer.n_bytes, has_states, ret))
			return refuse_answer(-EIO, e);
		ret->list.tid = a.answer.n;
		/* A process's lock would hold up the next one, too. */
		if (err != -EAGAIN || !has_states ||
		    (a.took_ns >= f->purpose.finder_ns && !a.answer.step))
			break;
	}
	if (err == -EAGAIN) /* its memory map stays locked, say */
		log_few(&f->failed,
			"the mappings of process %u cannot be read in time: its user stacks may be "
			"cut",
			pid);
	return err;
}

/* --- handles --- */

/* Descriptors that finders need for a moment. */
#define SPARE_HANDLES 16
#define FEWEST_HANDLES 8
#define CLOSE_AT_ONCE 8 /* less than SPARE_HANDLES */

size_t files_most_handles(void)
{
	const size_t taken = FIRST_HANDLE + SPARE_HANDLES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > MOST_HANDLES)
		return MOST_HANDLES - taken;
	return limit.rlim_max > taken + FEWEST_HANDLES ? limit.rlim_max - taken : FEWEST_HANDLES;
}

/* Let @m be the payload, which @text holds. */
static void set_mapping(struct ask *a, const struct mapping *m, struct strbuf *text)
{
	mapping_put(m, text);
	a->payload = text->text;
	a->question.n_bytes = text->n;
}

int files_open(struct files *f, uint32_t pid, int root, const struct mapping *m,
	       struct held_file *ret, struct error *e)
{
	const bool is_ours = pid == NO_PROCESS;
	cleanup(ask_fini) struct ask a = { .question = { .what = QUESTION_OPEN,
							 .flags = is_ours ? FIND_OURS : 0,
							 .pid = pid,
							 .user = is_ours ? 0 : process_user(pid),
							 .root = root } };
	cleanup_strbuf struct strbuf payload = {};
	int err;

	if (m)
		set_mapping(&a, m, &payload);
	skip_silent(f, &a, m);
	if (!m && a.question.flags & SKIP_PATHS)
		return fail_unanswered(e);
	err = ask_for_result(f, &a, e);
	if (err)
		return err;
	if (a.answer.n_bytes != sizeof(ret->fact) || !is_handle(a.answer.n))
		return refuse_answer(-EIO, e);
	ret->handle = (int)a.answer.n;
	memcpy(&ret->fact, a.data, sizeof(ret->fact));
	return 0;
}

bool files_fact(struct files *f, uint32_t pid, const struct mapping *m, struct file_fact *ret)
{
	struct held_file file = {};
	struct error e;
	const bool is_found = files_open(f, pid, HANDLE_NONE, m, &file, &e) == 0;

	if (is_found)
		files_close(f, file.handle);
	*ret = file.fact;
	return is_found;
}

void files_look(struct files *f, const struct held_file *file, struct file_fact *ret)
{
	cleanup(ask_fini) struct ask a = { .question = { .what = QUESTION_FACT,
							 .handle = file->handle,
							 .expected.dev = file->fact.dev } };
	struct error e;

	*ret = (struct file_fact){};
	if (places_may_ask(f->places, place_of(STEP_HANDLE, file->fact.dev, 0)) &&
	    ask_for_result(f, &a, &e) == 0 && a.answer.n_bytes == sizeof(*ret))
		memcpy(ret, a.data, sizeof(*ret));
}

void files_close(struct files *f, int handle)
{
	if (handle == HANDLE_NONE)
		return;
	array_push(f->to_close, f->n_to_close, f->to_close_capacity, handle);
	if (f->n_to_close < CLOSE_AT_ONCE)
		return;

	/* A handle that comes late is added while we ask. */
	const size_t n = f->n_to_close;
	cleanup_free int32_t *handles = TAKE(f->to_close);
	cleanup(ask_fini) struct ask a = { .question = { .what = QUESTION_CLOSE,
							 .n = (uint32_t)n,
							 .n_bytes = n * sizeof(*handles) },
					   .payload = handles };
	struct error e;
	int err;

	f->n_to_close = f->to_close_capacity = 0;
	err = ask_child(f, &a, &e);
	if (err && err != -ECANCELED)
		log_debug("files are not closed: %s", e.text);
	/* If the question was not sent, the next one closes these, too. */
	for (size_t i = 0; i < n && err == -EAGAIN && !a.took_ns; i++)
		array_push(f->to_close, f->n_to_close, f->to_close_capacity, handles[i]);
}

/* --- root directories --- */

/* Hold the root, through the first process that has it. */
static int lend_handle(struct files *f, struct root *root, uint32_t pid)
{
	struct held_file file = {};
	struct error e;

	if (root->handle != HANDLE_NONE || f->is_none ||
	    files_open(f, pid, HANDLE_NONE, NULL, &file, &e))
		return (int)(root - f->roots);
	if (file.fact.dev == root->identity.dev && file.fact.inode == root->identity.inode)
		root->handle = file.handle;
	else
		files_close(f, file.handle);
	return (int)(root - f->roots);
}

int roots_of(struct files *f, uint32_t pid)
{
	struct root *root = f->roots;
	struct root_identity identity = {};

	if (!root_identity_read(pid, &identity))
		return -1;
	while (root < f->roots + f->n_roots &&
	       memcmp(&root->identity, &identity, sizeof(identity)) != 0)
		root++;
	if (root < f->roots + f->n_roots)
		return lend_handle(f, root, pid);
	if (f->n_roots == MOST_ROOTS || (f->n_roots && f->n_roots >= files_most_handles() / 4))
		return -1;
	f->n_roots++;
	*root = (struct root){ identity, HANDLE_NONE };
	return lend_handle(f, root, pid);
}

int roots_handle(const struct files *f, int root)
{
	return root < 0 ? HANDLE_NONE : f->roots[root].handle;
}

bool roots_is_one(const struct files *f, int a, int b)
{
	return f->roots[a].identity.dev == f->roots[b].identity.dev &&
	       f->roots[a].identity.inode == f->roots[b].identity.inode;
}

/* --- tables --- */

/* The vdso is the kernel's. */
static const struct file_fact of_vdso = { .is_roots = 1 };

static int read_table(struct ask *a, struct file_table *ret, struct error *e)
{
	int32_t result;

	if (!table_read(a->data, a->answer.n_bytes, ret)) {
		*ret = (struct file_table){};
		return refuse_answer(-EIO, e);
	}
	ret->memory = TAKE(a->data);
	result = ret->fact.result;
	if (result == -EIO || result == -EAGAIN)
		result = -ENODATA; /* callers would take these for failures of children */
	return result ? error_set(e, result, "%.95s", a->answer.words) : 0;
}

int files_table(struct files *f, uint32_t pid, const struct mapping *m,
		const struct file_fact *state, struct file_table *ret, struct error *e)
{
	const bool is_vdso = !m->inode;
	/* A file system of a user may give its files any owner. 0 pays nothing. */
	const uint32_t user = is_vdso ? 0 : process_user(pid);
	const uint32_t payer = user || is_vdso ? user : state->owner;
	cleanup(ask_fini) struct ask a = { .question = { .what = QUESTION_TABLE,
							 .flags = is_vdso ? OF_VDSO : 0,
							 .pid = pid,
							 .user = payer,
							 .root = HANDLE_NONE,
							 .expected = is_vdso ? of_vdso : *state } };
	cleanup_strbuf struct strbuf payload = {};
	struct error why;
	int err = spending_check(&f->spending, payer);

	*ret = (struct file_table){};
	if (err)
		return error_set(e, err, "files of its user took too much time");
	set_mapping(&a, m, &payload);
	if (!is_vdso && !places_may_ask(f->places, place_of(STEP_CONTENTS, state->dev, payer)))
		return fail_unanswered(e);
	if (!is_vdso)
		skip_silent(f, &a, m);
	err = ask_child(f, &a, &why);
	if (!err && a.answer.result)
		err = error_set(&why, a.answer.n ? -ENOEXEC : -EAGAIN, "%.95s", a.answer.words);
	else if (!err)
		err = read_table(&a, ret, &why);
	if (err == -EIO)
		log_few(&f->failed, "%s has no unwind table: %s", path_end(m->path), why.text);
	spending_add(&f->spending, payer, a.cpu_ns, a.took_ns);
	return err ? error_set(e, err, "%s", why.text) : 0;
}

/* --- names --- */

#define USER_NOBODY 65534U

/* What the parser of @q must have opened (struct ask). */
static uint64_t file_of_question(const struct names_question *q, unsigned flags)
{
	uint64_t hash = hash_mix(flags ^ (uint64_t)(uint32_t)q->root << 32);

	hash = hash_mix(hash ^ hash_bytes(q->path, strlen(q->path)));
	if (q->fetched)
		hash = hash_mix(hash ^ hash_bytes(q->fetched, strlen(q->fetched)));
	if (q->hint)
		hash = hash_mix(hash ^ hash_bytes(q->hint, sizeof(*q->hint)));
	return hash | 1;
}

static int ask_for_names(struct files *f, struct ask *a, const struct names_question *q,
			 struct file_names *ret)
{
	struct error e;
	int err = ask_for_result(f, a, &e);

	if (!err && !names_read(a->data, a->answer.n_bytes, q->n, q->hint, ret))
		err = refuse_answer(-EIO, &e);
	else if (!err)
		ret->memory = TAKE(a->data);
	if (err == -EIO)
		log_few(&f->failed, "no %s for %s: %s",
			q->flags & NAMES_LINES ? "source lines" : "symbols", q->name, e.text);
	else if (err)
		log_debug("%s: %s", q->name, e.text);
	else if (a->answer.words[0])
		log_few(&f->words, "%s", a->answer.words);
	return err;
}

int files_names(struct files *f, const struct names_question *q, struct file_names *ret)
{
	const struct held_file vdso = { HANDLE_NONE, of_vdso };
	const struct held_file *file = q->file ? q->file : &vdso;
	const uint32_t owner = file->fact.owner;
	/* Another user's file system may claim that root owns a file. */
	const uint32_t user = owner || file->fact.is_roots ? owner : USER_NOBODY;
	cleanup(ask_fini) struct ask a = { .question = { .what = QUESTION_NAMES,
							 .flags =
								 q->flags | (q->file ? 0 : OF_VDSO),
							 .user = user,
							 .handle = file->handle,
							 .root = q->root,
							 .expected = file->fact } };
	int err;

	*ret = (struct file_names){};
	err = spending_check(&f->spending, owner);
	if (err)
		return err;
	if (q->file && !places_may_ask(f->places, place_of(STEP_CONTENTS, file->fact.dev, user)))
		return -EAGAIN;
	if (q->hint && !places_may_ask(f->places, place_of(STEP_DEBUG, (uint32_t)q->root, user)))
		a.question.flags |= SKIP_DEBUG;
	if (q->file && q->n)
		a.file = file_of_question(q, a.question.flags);

	cleanup_free struct names_payload *payload = names_payload_new(q, &a.question.n_bytes);

	a.payload = payload;
	err = ask_for_names(f, &a, q, ret);
	spending_add(&f->spending, owner, a.cpu_ns, a.took_ns);
	return err;
}

/* --- perf maps --- */

int files_perf_map(struct files *f, const struct perf_question *q, struct file_perf_map *ret,
		   struct error *e)
{
	cleanup(ask_fini) struct ask a = { .question = { .what = QUESTION_PERF_MAP,
							 .n = q->number,
							 .user = q->user,
							 .root = q->root,
							 .expected = q->known } };
	int err;

	*ret = (struct file_perf_map){};
	a.question.expected.is_roots = 0; /* whoever owns the file, its path may be a user's */
	if (!places_may_ask(f->places, place_of(STEP_PERF, (uint32_t)q->root, q->user)))
		return fail_unanswered(e);
	err = ask_for_result(f, &a, e);
	if (err)
		return err;
	if (a.answer.n_bytes < sizeof(ret->fact))
		return refuse_answer(-EIO, e);
	memcpy(&ret->fact, a.data, sizeof(ret->fact));
	ret->n = a.answer.n_bytes - sizeof(ret->fact);
	ret->memory = TAKE(a.data);
	ret->text = ret->memory + sizeof(ret->fact);
	return 0;
}
