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

struct client {
	pthread_mutex_t mutex;
	struct lane *lane;
	int over;     /* readable: nobody waits any more */
	bool is_over; /* there is no warden */
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

void client_lock(struct client *c)
{
	(void)pthread_mutex_lock(&c->mutex);
}

void client_unlock(struct client *c)
{
	(void)pthread_mutex_unlock(&c->mutex);
}

static int no_helper(struct error *e, const char *words)
{
	return error_set(e, -ENOTCONN, "no helper: %.96s", words);
}

static int none_there(const struct client *c, struct error *e)
{
	return no_helper(e, c->is_over ? "the process that makes them has ended"
				       : "none could be made a moment ago");
}

static const char *words_of(const struct lane_event *event)
{
	return event->words[0] ? event->words : "it could not start";
}

static bool take_event(struct client *c, struct lane_event *ret)
{
	const bool has = lane_next(c->lane, ret);

	c->is_over = c->is_over || (has && ret->what == LANE_OVER);
	return has;
}

void client_prepare(struct client *c, unsigned role)
{
	struct lane_event unused;

	(void)lane_want(c->lane, role);
	while (take_event(c, &unused))
		;
}

/* Wait until lane_next() may have something. */
static int wait_for_lane(const struct client *c, struct error *e)
{
	struct pollfd all[] = { { .fd = lane_fd(c->lane), .events = POLLIN },
				{ .fd = c->over, .events = POLLIN } };

	while (poll(all, 2, -1) < 0)
		if (errno != EINTR)
			return error_errno(e, "wait for a helper");
	return all[1].revents ? error_set(e, -ECANCELED, "the end") : 0;
}

/*
 * Wait until anything happens. 1: it was the answer to @number (0: to nothing), or its failure. An
 * error: there is no helper of @role. 0: other things, after which one may be free.
 */
static int next_event(struct client *c, unsigned role, uint32_t number, struct lane_event *ret,
		      struct error *e)
{
	const int err = wait_for_lane(c, e);

	if (err)
		return err;
	while (take_event(c, ret)) {
		if (c->is_over)
			return none_there(c, e);
		if (ret->what == LANE_UNABLE && ret->role == role)
			return no_helper(e, words_of(ret));
		if (number && ret->number == number)
			return 1;
	}
	return 0;
}

int client_ask(struct client *c, unsigned role, struct ask *ask, const void *payload,
	       struct lane_event *ret, struct error *e)
{
	int err;

	while ((err = lane_ask(c->lane, role, ask, payload)) == -EAGAIN) {
		err = next_event(c, role, 0, ret, e);
		if (err)
			return err;
	}
	if (err == -EFBIG)
		return error_set(e, err, "too much for a helper");
	if (err)
		return none_there(c, e);
	do
		err = next_event(c, role, ask->number, ret, e);
	while (!err);
	if (err < 0)
		return err;
	return ret->what == LANE_ANSWER ? 0 : error_set(e, -EIO, "its reader has failed");
}

int client_address(struct client *c, unsigned role, uint32_t *ret_files, int32_t *ret_pid,
		   struct error *e)
{
	struct lane_event event;
	int err = 0;

	while (!err && !lane_address(c->lane, role, ret_files, ret_pid))
		err = lane_want(c->lane, role) ? next_event(c, role, 0, &event, e)
					       : none_there(c, e);
	return err;
}

void client_distrust(struct client *c)
{
	lane_distrust(c->lane);
}

void client_end(struct client *c)
{
	if (c)
		(void)eventfd_write(c->over, 1);
}

void client_explain(const struct lane_event *event, char *to, size_t size)
{
	static const char *const words[] = { [LANE_SLOW] = "takes too long",
					     [LANE_LIED] = "gives an answer that makes no sense",
					     [LANE_STUCK] = "waits for a file system" };

	if (event->why != LANE_DIED)
		(void)snprintf(to, size, "its reader %s", words[event->why]);
	else if (WIFSIGNALED(event->status))
		(void)snprintf(to, size, "its reader was ended by signal %d (%s)",
			       WTERMSIG(event->status), strsignal(WTERMSIG(event->status)));
	else
		(void)snprintf(to, size, "its reader ended");
}
