// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "helper/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define IMPATIENT_NS (NS_PER_S / 40)

struct client {
	pthread_mutex_t mutex;
	struct lane *lane;
	int over;     /* readable after client_end() */
	bool is_over; /* the warden has ended */
	struct client_manner manner;
	client_late *late;
	void *late_context;
	uint32_t awaited;        /* number of the request that the call waits for */
	struct client_wait wait; /* of the call */
	uint64_t wait_until;     /* ns: the end of patience with the call; 0: none */
	bool is_impatient;       /* patience ended, and nothing has come since */
};

struct client *client_new(struct lane *lane)
{
	struct client *c = xcalloc(1, sizeof(*c));

	(void)pthread_mutex_init(&c->mutex, NULL);
	c->lane = lane;
	c->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->over >= 0)
		return c;
	client_free(c);
	return NULL;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	lane_free(c->lane);
	cleanup_close_fd(&c->over);
	(void)pthread_mutex_destroy(&c->mutex);
	free(c);
}

void client_set_manner(struct client *c, const struct client_manner *manner)
{
	c->manner = *manner;
}

void client_set_late(struct client *c, client_late *late, void *context)
{
	c->late = late;
	c->late_context = context;
}

void client_lock(struct client *c)
{
	(void)pthread_mutex_lock(&c->mutex);
}

void client_unlock(struct client *c)
{
	(void)pthread_mutex_unlock(&c->mutex);
}

static int refuse_without_helper(struct error *e, const char *words)
{
	return error_set(e, -ENOTCONN, "no helper: %.96s", words);
}

static int end_without_helper(const struct client *c, struct error *e)
{
	return refuse_without_helper(e, c->is_over ? "the process that makes them has ended"
						   : "none could be made a moment ago");
}

static const char *words_of_event(const struct lane_event *event)
{
	return event->words[0] ? event->words : "it could not start";
}

static bool receive_event(struct client *c, struct lane_event *ret)
{
	const bool has = lane_next(c->lane, ret);

	c->is_over = c->is_over || (has && ret->what == LANE_OVER);
	c->is_impatient = c->is_impatient && !has;
	if (has && c->late && ret->number && ret->number != c->awaited)
		c->late(c->late_context, ret);
	return has;
}

/* Take all events first, so that a helper that has ended is not asked. */
static void drain_events(struct client *c)
{
	struct lane_event unused;

	while (receive_event(c, &unused))
		;
}

void client_prepare(struct client *c, unsigned role)
{
	(void)lane_want(c->lane, role);
	drain_events(c);
}

static void begin_lane_call(struct client *c, unsigned role, bool is_roots)
{
	uint64_t patience = c->manner.patience_ns;

	if (c->manner.serve)
		c->manner.serve(c->manner.context);

	/* Many calls in a row would each wait in vain. But another helper may be made meanwhile. */
	if (c->is_impatient && patience > IMPATIENT_NS)
		patience = IMPATIENT_NS;
	c->wait = (struct client_wait){ .role = role, .is_roots = is_roots };
	c->wait_until = patience ? clock_ns(CLOCK_MONOTONIC) + patience : 0;
}

/* How long poll(2) may wait. -1: for ever; 0: patience is over. */
static int wait_ms(const struct client *c)
{
	const int most = c->manner.serve ? CLIENT_SERVE_MS : -1;

	if (!c->wait_until)
		return most;

	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint64_t left = now < c->wait_until ? c->wait_until - now : 0;
	const int ms = (int)((left + NS_PER_S / 1000 - 1) / (NS_PER_S / 1000));

	return most >= 0 && most < ms ? most : ms;
}

/* @ns: waited since the last call. */
static bool has_waited_enough(struct client *c, uint64_t ns)
{
	const struct client_manner *m = &c->manner;

	c->wait.ns = ns;
	c->wait.all_ns += ns;
	return m->is_enough && m->is_enough(m->context, &c->wait);
}

static int end_impatient_call(struct error *e)
{
	return error_set(e, -EINTR, "the run has no more time for it");
}

/* Wait until lane_next() may have something. */
static int wait_for_lane(struct client *c, struct error *e)
{
	struct pollfd all[] = { { .fd = lane_fd(c->lane), .events = POLLIN },
				{ .fd = c->over, .events = POLLIN } };

	for (;;) {
		const uint64_t began = clock_ns(CLOCK_MONOTONIC);
		const int n = poll(all, 2, wait_ms(c));

		c->wait.is_stopped = n == 0 && lane_has_in_state(c->lane, c->wait.role, 'T');

		const bool is_enough = has_waited_enough(c, clock_ns(CLOCK_MONOTONIC) - began);

		if (n > 0)
			break;
		if (n < 0 && errno != EINTR)
			return error_errno(e, "wait for a helper");
		c->is_impatient = n == 0 && c->wait_until && !wait_ms(c);
		if (is_enough)
			return end_impatient_call(e);
		if (c->is_impatient)
			return error_set(e, -ETIME, "no answer in time");
		if (n == 0 && c->manner.serve)
			c->manner.serve(c->manner.context);
	}
	return all[1].revents ? error_set(e, -ECANCELED, "the run is ending") : 0;
}

/*
 * Wait for events. Returns 1 if one is the outcome of request @number (0: of none). Returns an
 * error if there is no helper of @role. Returns 0 after other events: a helper may be free now.
 */
static int next_lane_event(struct client *c, unsigned role, uint32_t number, struct lane_event *ret,
			   struct error *e)
{
	const int err = wait_for_lane(c, e);

	if (err)
		return err;
	while (receive_event(c, ret)) {
		if (c->is_over)
			return end_without_helper(c, e);
		if (ret->what == LANE_UNABLE && ret->role == role)
			return refuse_without_helper(e, words_of_event(ret));
		if (number && ret->number == number)
			return 1;
	}
	return 0;
}

/* Wait until a helper has @ask. */
static int submit_request(struct client *c, unsigned role, struct ask *ask, const void *payload,
			  struct lane_event *ret, struct error *e)
{
	int err;

	while ((err = lane_ask(c->lane, role, ask, payload)) == -EAGAIN) {
		err = next_lane_event(c, role, 0, ret, e);
		if (err)
			return err;
	}
	if (err == -EFBIG)
		return error_set(e, err, "too much for a helper");
	return err ? end_without_helper(c, e) : 0;
}

int client_ask(struct client *c, unsigned role, struct ask *ask, const void *payload,
	       struct lane_event *ret, struct error *e)
{
	ask->number = 0;
	begin_lane_call(c, role, ask->is_roots);
	if (has_waited_enough(c, 0))
		return end_impatient_call(e);
	drain_events(c);

	int err = submit_request(c, role, ask, payload, ret, e);

	if (err)
		return err;
	c->awaited = ask->number;
	do
		err = next_lane_event(c, role, ask->number, ret, e);
	while (!err);
	c->awaited = 0;
	if (err == -EINTR)
		lane_give_up(c->lane, ask->number);
	if (err < 0)
		return err;
	return ret->what == LANE_ANSWER ? 0 : error_set(e, -EIO, "its reader has failed");
}

int client_address(struct client *c, unsigned role, uint32_t *ret_files, int32_t *ret_pid,
		   struct error *e)
{
	struct lane_event event;
	int err = 0;

	begin_lane_call(c, role, false);
	drain_events(c);
	if (!lane_address(c->lane, role, ret_files, ret_pid) && has_waited_enough(c, 0))
		return end_impatient_call(e);
	while (!err && !lane_address(c->lane, role, ret_files, ret_pid))
		err = lane_want(c->lane, role) ? next_lane_event(c, role, 0, &event, e)
					       : end_without_helper(c, e);
	return err;
}

bool client_waits_in_call(const struct client *c, unsigned role)
{
	return lane_has_in_state(c->lane, role, 'S') || lane_has_in_state(c->lane, role, 'D');
}

void client_distrust(struct client *c)
{
	lane_distrust(c->lane);
}

void client_hurry(struct client *c)
{
	lane_hurry(c->lane);
}

void client_end(struct client *c)
{
	if (c)
		(void)eventfd_write(c->over, 1);
}

void client_explain(const struct lane_event *event, char *to, size_t size)
{
	static const char *const words[] = { [LANE_SLOW] = "takes too long",
					     [LANE_SILENT] = "waits for a file system",
					     [LANE_LIED] = "sent an invalid answer",
					     [LANE_STUCK] = "waits for a file system" };

	if (event->why != LANE_DIED)
		(void)snprintf(to, size, "its reader %s", words[event->why]);
	else if (WIFSIGNALED(event->status))
		(void)snprintf(to, size, "its reader was ended by signal %d (%s)",
			       WTERMSIG(event->status), strsignal(WTERMSIG(event->status)));
	else
		(void)snprintf(to, size, "its reader ended");
}
