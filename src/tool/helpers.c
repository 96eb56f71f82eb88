// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/run.h"

#include <errno.h>
#include <unistd.h>

#include "base/read.h"
#include "reader/roles.h"

/*
 * CPU time for all files of one user. A usual file takes some ms, the most expensive one a second.
 */
#define MOST_OF_USER_NS (30 * NS_PER_S)

/* Programs ignore numbers that are not in the mask, so the mask goes last. */
static void replace_own_tgid(struct own_processes *own, uint32_t former, uint32_t tgid)
{
	uint64_t mask = 0;
	bool is_done = false;

	for (size_t i = 0; i < MOST_OWN; i++) {
		if (!is_done && own->tgids[i] == former) {
			__atomic_store_n(&own->tgids[i], tgid, __ATOMIC_RELAXED);
			is_done = true;
		}
		if (own->tgids[i])
			mask |= own_mask_of(own->tgids[i]);
	}
	__atomic_store_n(&own->mask, mask, __ATOMIC_RELEASE);
}

static void on_helper_process(void *context, pid_t pid, bool is_there)
{
	struct helpers *h = context;

	(void)pthread_mutex_lock(&h->mutex);

	struct own_processes *own = h->state ? &h->state->own : &h->own;

	if (is_there)
		replace_own_tgid(own, 0, (uint32_t)pid);
	for (size_t i = 0; i < MOST_OWN && !is_there; i++)
		if (!pid || own->tgids[i] == (uint32_t)pid)
			replace_own_tgid(own, own->tgids[i], 0);
	/* It is known now, so the note goes that BPF programs made at its birth. */
	for (size_t i = MOST_OWN; i < MOST_OWN + MOST_BORN && is_there; i++) {
		uint32_t born = (uint32_t)pid;

		(void)__atomic_compare_exchange_n(&own->tgids[i], &born, 0, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
	}
	(void)pthread_mutex_unlock(&h->mutex);
}

/* Records of all processes wait while this lane does. An opener usually takes some microseconds. */
#define CAPTURE_PATIENCE_NS (NS_PER_S / 4)

static const char *const lost[READER_LANES] = {
	[FOR_TABLES] = "user stacks may be cut (no unwind table)",
	[FOR_FOLLOWING] = "user frames may be [unknown]",
	[FOR_NAMES] = "user frames may be [unknown]",
};

void helpers_init(struct helpers *h)
{
	h->devices = devices_new(DEVICES_PAUSE_NS);
	for (size_t i = 0; i < READER_LANES; i++)
		h->files[i] = remote_files_new(NULL, h->devices, lost[i]);
}

static int make_lane(struct helpers *h, unsigned who, struct error *e)
{
	struct lane *lane =
		lane_new(warden_take_control(&h->warden, who), reader_roles, READER_ROLES);

	if (lane) {
		lane_hear(lane, on_helper_process, h);
		h->clients[who] = client_new(lane);
	}
	if (!h->clients[who])
		return error_set(e, -EMFILE, "%s", error_words(-EMFILE));
	remote_files_free(h->files[who]);
	h->files[who] = remote_files_new(h->clients[who], h->devices, lost[who]);
	return 0;
}

static int make_lanes(struct helpers *h, struct error *e)
{
	int err = 0;

	for (unsigned i = 0; !err && i < READER_LANES; i++)
		err = make_lane(h, i, e);
	warden_fini(&h->warden); /* closes the lane that no reader uses */
	if (!err)
		h->remote = remote_new(h->files[FOR_TABLES], MOST_OF_USER_NS);
	return err;
}

static void prepare_role(struct helpers *h, unsigned who, unsigned role)
{
	client_lock(h->clients[who]);
	client_prepare(h->clients[who], role);
	client_unlock(h->clients[who]);
}

void helpers_prepare(struct helpers *h)
{
	if (!h->remote)
		return;
	if (h->makes_tables) {
		prepare_role(h, FOR_TABLES, ROLE_OPENER);
		prepare_role(h, FOR_TABLES, ROLE_PARSER);
	}
	prepare_role(h, FOR_FOLLOWING, ROLE_OPENER);
}

int helpers_start(struct helpers *h, bool makes_tables, struct error *e)
{
	int err = warden_start(reader_roles, READER_ROLES, &h->warden, e);

	if (!err) {
		replace_own_tgid(&h->own, 0, (uint32_t)h->warden.pid);
		err = make_lanes(h, e);
	}
	if (err)
		return error_within(e, "start helper processes");
	h->makes_tables = makes_tables;
	helpers_prepare(h);
	return 0;
}

void helpers_set_manner(struct helpers *h, const struct client_manner *manner)
{
	const struct client_manner capture = { .patience_ns = CAPTURE_PATIENCE_NS,
					       .is_enough = manner->is_enough,
					       .context = manner->context };

	if (h->clients[FOR_NAMES])
		client_set_manner(h->clients[FOR_NAMES], manner);
	if (h->clients[FOR_FOLLOWING])
		client_set_manner(h->clients[FOR_FOLLOWING], &capture);
}

void helpers_hurry(struct helpers *h)
{
	if (h->clients[FOR_NAMES])
		client_hurry(h->clients[FOR_NAMES]);
}

bool helpers_have_no_warden(const struct helpers *h)
{
	return process_is_in_state(h->warden.pid, 'T');
}

void helpers_leave_out(struct helpers *h, struct trace_state *state)
{
	(void)pthread_mutex_lock(&h->mutex);
	for (size_t i = 0; state && i < MOST_OWN; i++)
		if (h->own.tgids[i])
			replace_own_tgid(&state->own, 0, h->own.tgids[i]);
	if (state)
		__atomic_store_n(&state->own.warden, (uint32_t)h->warden.pid, __ATOMIC_RELAXED);
	h->state = state;
	(void)pthread_mutex_unlock(&h->mutex);
}

void helpers_end_tables(struct helpers *h)
{
	client_end(h->clients[FOR_TABLES]);
}

void helpers_end(struct helpers *h)
{
	for (size_t i = 0; i < READER_LANES; i++)
		client_end(h->clients[i]);
	helpers_leave_out(h, NULL);
}

void helpers_fini(struct helpers *h)
{
	remote_free(h->remote);
	for (size_t i = 0; i < READER_LANES; i++) {
		remote_files_free(h->files[i]);
		client_free(h->clients[i]);
	}
	devices_free(h->devices);
	warden_fini(&h->warden);
}
