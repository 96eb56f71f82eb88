// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/helpers.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "reader/roles.h"

/* Of CPU time, for all files of one user: a usual file takes some ms, and the dearest one a second.
 */
#define MOST_OF_USER_NS (30 * NS_PER_S)

/* Let the programs see @own. The mask goes last: a number that is not in it is not looked at. */
static void publish(const struct helpers *h)
{
	struct own_processes *to = h->state ? &h->state->own : NULL;

	if (!to)
		return;
	for (size_t i = 0; i < MOST_OWN; i++)
		__atomic_store_n(&to->tgids[i], h->own.tgids[i], __ATOMIC_RELAXED);
	__atomic_store_n(&to->mask, h->own.mask, __ATOMIC_RELEASE);
	__atomic_store_n(&to->warden, (uint32_t)h->warden.pid, __ATOMIC_RELAXED);
}

/* The programs have noted its birth; from now on it is among those that user space knows. */
static void take_birth(const struct helpers *h, uint32_t tgid)
{
	struct own_processes *to = h->state ? &h->state->own : NULL;

	for (size_t i = 0; to && i < MOST_BORN; i++) {
		uint32_t born = tgid;

		(void)__atomic_compare_exchange_n(&to->tgids[MOST_OWN + i], &born, 0, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

static void note(struct own_processes *own, uint32_t former, uint32_t tgid)
{
	uint64_t mask = 0;
	bool is_done = false;

	for (size_t i = 0; i < MOST_OWN; i++) {
		if (!is_done && own->tgids[i] == former) {
			own->tgids[i] = tgid;
			is_done = true;
		}
		if (own->tgids[i])
			mask |= own_mask_of(own->tgids[i]);
	}
	own->mask = mask;
}

/* With the client's lock. */
static void on_process(void *context, pid_t pid, bool is_there)
{
	struct helpers *h = context;

	if (is_there)
		note(&h->own, 0, (uint32_t)pid);
	else if (pid)
		note(&h->own, (uint32_t)pid, 0);
	else
		h->own = (struct own_processes){};
	publish(h);
	if (is_there)
		take_birth(h, (uint32_t)pid);
}

static int make_lane(struct helpers *h, struct error *e)
{
	struct lane *lane =
		lane_new(warden_take_control(&h->warden, 0), reader_roles, READER_ROLES);

	warden_fini(&h->warden); /* the other lanes are not used */
	if (lane) {
		lane_hear(lane, on_process, h);
		h->client = client_new(lane);
	}
	if (!h->client)
		return error_set(e, -EMFILE, "%s", error_words(-EMFILE));
	h->remote = remote_new(h->client, MOST_OF_USER_NS);
	return 0;
}

void helpers_prepare(struct helpers *h)
{
	if (!h->client)
		return;
	client_lock(h->client);
	client_prepare(h->client, ROLE_OPENER);
	client_prepare(h->client, ROLE_PARSER);
	client_unlock(h->client);
}

int helpers_start(struct helpers *h, struct error *e)
{
	int err = warden_start(reader_roles, READER_ROLES, &h->warden, e);

	if (!err) {
		note(&h->own, 0, (uint32_t)h->warden.pid);
		err = make_lane(h, e);
	}
	if (err)
		return error_within(e, "start the helpers that read files of others");
	helpers_prepare(h);
	return 0;
}

static void set_state(struct helpers *h, struct trace_state *state)
{
	if (!h->client)
		return;
	client_lock(h->client);
	h->state = state;
	publish(h);
	client_unlock(h->client);
}

void helpers_leave_out(struct helpers *h, struct trace_state *state)
{
	set_state(h, state);
}

void helpers_end(struct helpers *h)
{
	client_end(h->client);
	set_state(h, NULL);
}

void helpers_fini(struct helpers *h)
{
	remote_free(h->remote);
	client_free(h->client);
	warden_fini(&h->warden);
}
