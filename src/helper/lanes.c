// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A helper's life, as its lane sees it:
 *
 *	NONE -- MAKE --> ASKED_FOR -- MADE --> STARTING -- ready --> READY <--> BUSY, GIVEN
 *	 ^                                        |                    |          |
 *	 +-- ENDED, or 0.2 s after KILL --------- DYING <-- KILL: late, or a lie -+
 *
 * A helper has one request at a time. So the lane knows at which request a helper failed. It trusts
 * no report of a helper about itself: the kernel gives its CPU time, and the warden reports its
 * end.
 */
#include "helper/lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/read.h"
#include "helper/channel.h"

#define MOST_HELPERS 8
#define MOST_ROLES 8
#define CONTROL MOST_HELPERS /* epoll's number of the control; helpers have those below it */
#define TIMER (MOST_HELPERS + 1)
#define PAUSE_NS NS_PER_S /* after a failed start, before the next one */
#define KEPT_BYTES 65536  /* the most that an area keeps for the next answer */
#define LARGEST_ERRNO 4095

enum state { NONE, ASKED_FOR, STARTING, READY, BUSY, GIVEN, DYING };

struct helper {
	enum state state;
	unsigned role;
	pid_t pid;
	int channel, area;
	uint32_t files;
	uint32_t number;    /* of the request; 0: none */
	struct ask ask;     /* the last request */
	uint64_t since;     /* ns: start of this state */
	uint64_t cpu_ns;    /* up to the request */
	uint64_t n_written; /* bytes written to its area */
	uint64_t look_at;   /* BUSY: it cannot use up its CPU time before */
	clockid_t clock;    /* of its CPU time */
	enum lane_why why;  /* DYING */
	bool was_ready;
	uint32_t layers;
	char words[96]; /* why it could not start */
};

struct lane {
	const struct role *roles;
	lane_heard *heard;
	void *context;
	size_t n_roles;
	int control, epoll, timer;
	uint32_t last_number;
	uint32_t n_left;
	struct helper helpers[MOST_HELPERS];
	struct helper *given; /* the caller looks at its answer */
	uint64_t not_before[MOST_ROLES];
	uint64_t armed; /* ns; 0: the timer is off */
	bool is_over;
};

static uint64_t lanes_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int watch_lane_fd(struct lane *l, int fd, uint32_t number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = number };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event);
}

struct lane *lane_new(int control, const struct role *roles, size_t n_roles)
{
	struct lane *l = xcalloc(1, sizeof(*l));

	l->roles = roles;
	l->n_roles = n_roles < MOST_ROLES ? n_roles : MOST_ROLES;
	l->control = control;
	for (size_t i = 0; i < MOST_HELPERS; i++)
		l->helpers[i].channel = l->helpers[i].area = -1;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch_lane_fd(l, control, CONTROL) == 0 && watch_lane_fd(l, l->timer, TIMER) == 0)
		return l;
	lane_free(l);
	return NULL;
}

static void forget_helper(struct helper *h)
{
	cleanup_close_fd(&h->channel);
	cleanup_close_fd(&h->area);
	*h = (struct helper){ .channel = -1, .area = -1 };
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < MOST_HELPERS; i++)
		forget_helper(&l->helpers[i]);
	cleanup_close_fd(&l->control);
	cleanup_close_fd(&l->timer);
	cleanup_close_fd(&l->epoll);
	free(l);
}

void lane_hear(struct lane *l, lane_heard *heard, void *context)
{
	l->heard = heard;
	l->context = context;
}

int lane_fd(const struct lane *l)
{
	return l->epoll;
}

static void enter_state(struct helper *h, enum state state)
{
	h->state = state;
	h->since = lanes_now_ns();
}

static struct helper *find_helper(struct lane *l, unsigned role, enum state state)
{
	for (size_t i = 0; i < MOST_HELPERS; i++)
		if (l->helpers[i].state == state && (state == NONE || l->helpers[i].role == role))
			return &l->helpers[i];
	return NULL;
}

/* -- To the warden. -- */

static void make_helper(struct lane *l, unsigned role)
{
	const struct warden_message make = { .what = WARDEN_MAKE, .role = role };
	struct helper *h = find_helper(l, role, NONE);

	if (h && channel_send(l->control, &make, sizeof(make)) == 0) {
		h->role = role;
		enter_state(h, ASKED_FOR);
	}
}

static void kill_helper(struct lane *l, struct helper *h, enum lane_why why)
{
	const struct warden_message kill = { .what = WARDEN_KILL, .pid = h->pid };

	/* If this fails, the warden has gone, with all helpers. */
	(void)!channel_send(l->control, &kill, sizeof(kill));
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, h->channel, NULL);
	h->why = why;
	enter_state(h, DYING);
}

void lane_hurry(struct lane *l)
{
	const struct warden_message hurry = { .what = WARDEN_HURRY };

	(void)!channel_send(l->control, &hurry, sizeof(hurry));
}

static unsigned count_helpers(const struct lane *l, unsigned role)
{
	unsigned n = 0;

	for (size_t i = 0; i < MOST_HELPERS; i++)
		n += l->helpers[i].state != NONE && l->helpers[i].state != DYING &&
		     l->helpers[i].role == role;
	return n;
}

bool lane_want(struct lane *l, unsigned role)
{
	if (!l->is_over && count_helpers(l, role) == 0 && lanes_now_ns() >= l->not_before[role])
		make_helper(l, role);
	return count_helpers(l, role) || find_helper(l, role, DYING);
}

/* The caller has looked at the last answer, so its helper is free. */
static void release_given(struct lane *l)
{
	struct helper *h = l->given;

	l->given = NULL;
	if (!h || h->state != GIVEN)
		return;
	if (h->n_written > KEPT_BYTES)
		area_clear(h->area, h->n_written);
	h->number = 0;
	enter_state(h, READY);
}

/* -- Asking. -- */

static int write_request(struct helper *h, const struct ask *ask, const void *payload)
{
	char packet[sizeof(*ask) + ASK_INLINE];
	size_t n = sizeof(*ask);

	memcpy(packet, ask, sizeof(*ask));
	if (ask->n_bytes > ASK_INLINE) {
		const int err = area_write(h->area, payload, ask->n_bytes);

		if (err)
			return err;
	} else if (ask->n_bytes) {
		memcpy(packet + n, payload, ask->n_bytes);
		n += ask->n_bytes;
	}
	return channel_send(h->channel, packet, n);
}

/* CPU time of @h, from the kernel. The last known one if @h has just ended. */
static uint64_t helper_cpu_ns(const struct helper *h)
{
	struct timespec t;

	if (clock_gettime(h->clock, &t) < 0)
		return h->cpu_ns;
	return later_time(h->cpu_ns, (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
}

/*
 * When to make one more helper of @role: if all are busy, some time after the last one became so.
 * UINT64_MAX: never.
 */
static uint64_t spare_at(struct lane *l, unsigned role)
{
	const struct role *r = &l->roles[role];
	uint64_t last = 0;

	if (!r->spare_after_ns || count_helpers(l, role) >= r->most || !find_helper(l, role, NONE))
		return UINT64_MAX;
	for (size_t i = 0; i < MOST_HELPERS; i++) {
		const struct helper *h = &l->helpers[i];

		if (h->role != role || h->state == NONE || h->state == DYING)
			continue;
		if (h->state != BUSY)
			return UINT64_MAX;
		last = later_time(last, h->since);
	}
	return last ? later_time(last + r->spare_after_ns, l->not_before[role]) : UINT64_MAX;
}

/* When to look at @h again; UINT64_MAX: never. */
static uint64_t deadline_of(const struct lane *l, const struct helper *h)
{
	const struct role *r = &l->roles[h->role];

	if (h->state == DYING)
		return h->since + WARDEN_LEFT_AFTER_NS;
	if (h->state == STARTING || h->state == ASKED_FOR)
		return h->since + r->wall_ns;
	if (h->state != BUSY)
		return UINT64_MAX;
	return earlier_time(h->since + r->wall_ns, h->look_at);
}

/* Leaves a timer that is set too early: moving it for each request would take two system calls. */
static void arm_timer(struct lane *l)
{
	uint64_t at = UINT64_MAX;

	for (size_t i = 0; i < MOST_HELPERS; i++)
		at = earlier_time(at, deadline_of(l, &l->helpers[i]));
	for (unsigned role = 0; role < l->n_roles; role++)
		at = earlier_time(at, spare_at(l, role));
	if (at == UINT64_MAX || (l->armed && l->armed <= at))
		return;

	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(at / NS_PER_S),
						       .tv_nsec = (long)(at % NS_PER_S) } };

	(void)timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL);
	l->armed = at;
}

int lane_ask(struct lane *l, unsigned role, struct ask *ask, const void *payload)
{
	release_given(l);
	if (ask->n_bytes > l->roles[role].n_area)
		return -EFBIG;

	struct helper *h = find_helper(l, role, READY);

	if (!h)
		return lane_want(l, role) ? -EAGAIN : -ENOTCONN;
	if (++l->last_number == 0)
		l->last_number = 1;
	ask->number = h->number = l->last_number;
	h->ask = *ask;
	h->n_written = ask->n_bytes;
	enter_state(h, BUSY);
	h->look_at = l->roles[role].cpu_ns ? h->since + l->roles[role].cpu_ns : UINT64_MAX;
	/* If it has died, the warden reports that. */
	if (write_request(h, ask, payload) < 0)
		kill_helper(l, h, LANE_DIED);
	arm_timer(l);
	return 0;
}

bool lane_address(const struct lane *l, unsigned role, uint32_t *ret_files, int32_t *ret_pid)
{
	for (size_t i = 0; i < MOST_HELPERS; i++) {
		const struct helper *h = &l->helpers[i];

		if (h->role != role || h->state < READY || h->state > GIVEN)
			continue;
		*ret_files = h->files;
		*ret_pid = h->pid;
		return true;
	}
	return false;
}

void lane_distrust(struct lane *l)
{
	struct helper *h = l->given;

	l->given = NULL;
	if (!h || h->state != GIVEN)
		return;
	h->number = 0; /* the request has its answer */
	kill_helper(l, h, LANE_LIED);
	arm_timer(l);
}

void lane_give_up(struct lane *l, uint32_t number)
{
	for (size_t i = 0; i < MOST_HELPERS; i++)
		if (l->helpers[i].state == BUSY && l->helpers[i].number == number)
			kill_helper(l, &l->helpers[i], LANE_SLOW);
	arm_timer(l);
}

bool lane_has_in_state(const struct lane *l, unsigned role, char state)
{
	bool is = false;

	for (size_t i = 0; i < MOST_HELPERS && !is; i++)
		is = l->helpers[i].state == BUSY && l->helpers[i].role == role &&
		     process_is_in_state(l->helpers[i].pid, state);
	return is;
}

/* -- Events. -- */

/* @h has ended, or is left behind. True if the caller has to hear of it. */
static bool report_helper_end(struct lane *l, struct helper *h, struct lane_event *ret)
{
	ret->number = h->number;
	ret->ask = h->ask;
	ret->role = h->role;
	ret->what = h->was_ready ? LANE_FAILED : LANE_UNABLE;
	memcpy(ret->words, h->words, sizeof(ret->words));
	if (!h->was_ready)
		l->not_before[h->role] = lanes_now_ns() + PAUSE_NS;
	forget_helper(h);
	return ret->what == LANE_UNABLE || ret->number;
}

static void report_helper(const struct lane *l, pid_t pid, bool is_there)
{
	if (l->heard)
		l->heard(l->context, pid, is_there);
}

static bool handle_helper_end(struct lane *l, const struct warden_message *m,
			      struct lane_event *ret)
{
	report_helper(l, m->pid, false);
	for (size_t i = 0; i < MOST_HELPERS; i++) {
		struct helper *h = &l->helpers[i];

		if (h->pid != m->pid || h->state < STARTING)
			continue;
		ret->status = m->status;
		ret->why = h->state == DYING ? h->why : LANE_DIED;
		ret->cpu_ns = m->cpu_ns > h->cpu_ns ? m->cpu_ns - h->cpu_ns : 0;
		if (h->state == GIVEN)
			h->number = 0;
		return report_helper_end(l, h, ret);
	}
	return false; /* it was left behind, and the caller has heard of it */
}

static bool handle_refusal(struct lane *l, const struct warden_message *m, struct lane_event *ret)
{
	struct helper *h = find_helper(l, m->role, ASKED_FOR);

	if (!h)
		return false;
	(void)snprintf(h->words, sizeof(h->words), "%.90s",
		       m->status == -EBUSY ? "too many wait for file systems that do not answer"
					   : error_start_words(m->status));
	return report_helper_end(l, h, ret);
}

/* The helper has been made, and waits until it may begin. @fds are its @n descriptors. */
static void handle_new_helper(struct lane *l, const struct warden_message *m, int *fds, int n)
{
	struct helper *h = find_helper(l, m->role, ASKED_FOR);
	const char go = 0;

	if (!h)
		return;
	report_helper(l, m->pid, true);
	h->pid = m->pid;
	h->files = m->files;
	h->channel = TAKE_FD(fds[0]);
	h->area = TAKE_FD(fds[1]);
	enter_state(h, STARTING);
	/* If it has ended already, the warden reports that next. */
	if (clock_getcpuclockid(m->pid, &h->clock) != 0 ||
	    watch_lane_fd(l, h->channel, (uint32_t)(h - l->helpers)) < 0 ||
	    channel_pass(h->channel, &go, sizeof(go), &fds[2], n == 3 ? 1 : 0) < 0)
		kill_helper(l, h, LANE_DIED);
}

static bool end_lane(struct lane *l, struct lane_event *ret)
{
	const bool was_over = l->is_over;

	l->is_over = true;
	report_helper(l, 0, false);
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->control, NULL);
	for (size_t i = 0; i < MOST_HELPERS; i++)
		forget_helper(&l->helpers[i]);
	ret->what = LANE_OVER;
	return !was_over;
}

static bool handle_warden_message(struct lane *l, struct lane_event *ret)
{
	struct warden_message m;
	int fds[CHANNEL_FDS];
	const int n = channel_take(l->control, &m, sizeof(m), fds);

	if (n == -EAGAIN)
		return false;
	if (n < 0)
		return end_lane(l, ret);
	ret->n_left = l->n_left = m.n_left;
	if (m.what == WARDEN_MADE && n >= 2)
		handle_new_helper(l, &m, fds, n);
	for (int i = 0; i < n; i++)
		cleanup_close_fd(&fds[i]);
	if (m.what == WARDEN_REFUSED)
		return handle_refusal(l, &m, ret);
	return m.what == WARDEN_ENDED && handle_helper_end(l, &m, ret);
}

static bool is_answer_sound(const struct lane *l, const struct helper *h, const struct answer *a)
{
	return a->number == h->number && a->result <= 0 && a->result >= -LARGEST_ERRNO &&
	       a->n_bytes <= l->roles[h->role].n_area && memchr(a->words, 0, sizeof(a->words));
}

/* Handle a helper's first packet: ready, or the reason why not. */
static void handle_first_packet(struct lane *l, struct helper *h, const struct answer *a)
{
	if (a->result == 0) {
		h->was_ready = true;
		h->layers = a->n;
		h->cpu_ns = helper_cpu_ns(h);
		enter_state(h, READY);
		return;
	}
	memcpy(h->words, a->words, sizeof(h->words));
	kill_helper(l, h, LANE_DIED);
}

static bool receive_answer(struct lane *l, struct helper *h, struct lane_event *ret)
{
	const int err = channel_receive(h->channel, &ret->answer, sizeof(ret->answer));

	if (err == -EAGAIN)
		return false;
	/* If the helper has ended, the warden reports how. An empty packet is a lie, too. */
	if (err || !is_answer_sound(l, h, &ret->answer) || h->state == READY || h->state == GIVEN) {
		kill_helper(l, h, err == -EPIPE ? LANE_DIED : LANE_LIED);
		return false;
	}
	if (h->state == STARTING) {
		handle_first_packet(l, h, &ret->answer);
		return false;
	}

	const uint64_t before = h->cpu_ns;

	h->cpu_ns = helper_cpu_ns(h);
	h->n_written = later_time(h->n_written, ret->answer.n_bytes);
	enter_state(h, GIVEN);
	l->given = h;
	ret->what = LANE_ANSWER;
	ret->role = h->role;
	ret->number = h->number;
	ret->ask = h->ask;
	ret->cpu_ns = h->cpu_ns - before;
	ret->layers = h->layers;
	ret->area = h->area;
	return true;
}

/* A signal may have stopped it, or a busy machine given it no CPU. */
static enum lane_why why_late(const struct helper *h, bool is_time_over)
{
	if (h->state == BUSY && process_is_in_state(h->pid, 'T'))
		return LANE_DIED;
	return h->state != BUSY || !is_time_over || process_is_in_state(h->pid, 'R') ? LANE_SLOW
										     : LANE_SILENT;
}

/* Check the deadline of @h, for which no packet waits. True: @ret has an event. */
static bool check_time(struct lane *l, struct helper *h, uint64_t now, struct lane_event *ret)
{
	const struct role *r = &l->roles[h->role];

	if (now < deadline_of(l, h))
		return false;
	if (h->state == DYING) {
		ret->why = process_is_in_state(h->pid, 'R') ? h->why : LANE_STUCK;
		ret->in_call = process_is_in_state(h->pid, 'D') ? h->pid : 0;
		return report_helper_end(l, h, ret);
	}
	if (h->state == ASKED_FOR) {
		(void)snprintf(h->words, sizeof(h->words), "the warden does not answer");
		return report_helper_end(l, h, ret);
	}
	if (h->state == BUSY && now < h->since + r->wall_ns) {
		const uint64_t used = helper_cpu_ns(h) - h->cpu_ns;

		if (used < r->cpu_ns) {
			h->look_at = now + r->cpu_ns - used;
			return false;
		}
	}
	kill_helper(l, h, why_late(h, now >= h->since + r->wall_ns));
	return false;
}

static bool check_times(struct lane *l, struct lane_event *ret)
{
	const uint64_t now = lanes_now_ns();

	for (size_t i = 0; i < MOST_HELPERS; i++) {
		if (check_time(l, &l->helpers[i], now, ret))
			return true;
		*ret = (struct lane_event){ .area = -1, .n_left = l->n_left };
	}
	for (unsigned role = 0; role < l->n_roles; role++)
		if (now >= spare_at(l, role))
			make_helper(l, role);
	return false;
}

static bool handle_readable(struct lane *l, uint32_t who, struct lane_event *ret)
{
	uint64_t n;

	if (who == CONTROL)
		return handle_warden_message(l, ret);
	if (who != TIMER)
		return receive_answer(l, &l->helpers[who], ret);
	if (read(l->timer, &n, sizeof(n)) > 0)
		l->armed = 0;
	return false;
}

bool lane_next(struct lane *l, struct lane_event *ret)
{
	struct epoll_event event;
	bool has = false;

	release_given(l);
	do
		*ret = (struct lane_event){ .area = -1, .n_left = l->n_left };
	while (epoll_wait(l->epoll, &event, 1, 0) == 1 &&
	       !(has = handle_readable(l, event.data.u32, ret)));
	has = has || check_times(l, ret);
	arm_timer(l);
	return has;
}
