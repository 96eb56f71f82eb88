// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/remote_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "elf/debug.h"
#include "helper/channel.h"
#include "helper/seat.h"

#define CLOSE_AT_ONCE 8 /* less than SPARE_HANDLES */

struct remote_files {
	struct asking asking;
	bool has_warned_silence;
	int32_t *to_close;
	size_t n_to_close, to_close_capacity;
	size_t close_at; /* after a failed close: try again at so many */
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b)
{
	return a->dev == b->dev && a->inode == b->inode && file_fact_is_equal(&a->fact, &b->fact);
}

static bool is_handle(int handle)
{
	return handle >= SEAT_OURS && handle < SEAT_MOST_FILES;
}

/* The handle in an answer of any kind; HANDLE_NONE if it has none. */
static int handle_in_answer(const struct lane_event *event)
{
	const uint32_t what = event->ask.what;
	struct open_fact open;

	if (event->answer.result || event->role != ROLE_OPENER ||
	    !(what == ASK_OPEN || what == ASK_ROOT || what == ASK_OPEN_DEBUG) ||
	    area_read(event->area, 0, &open, sizeof(open)) < 0)
		return HANDLE_NONE;
	return is_handle(open.handle) ? open.handle : HANDLE_NONE;
}

/* Close files that an opener found after the caller gave up. */
static void handle_late_answer(void *context, const struct lane_event *event)
{
	struct remote_files *f = context;
	const int handle = event->what == LANE_ANSWER ? handle_in_answer(event) : HANDLE_NONE;

	asking_note_late(&f->asking, event);
	if (handle != HANDLE_NONE)
		array_push(f->to_close, f->n_to_close, f->to_close_capacity, handle);
}

struct remote_files *remote_files_new(struct client *client, struct devices *devices,
				      const char *lost)
{
	struct remote_files *f = xcalloc(1, sizeof(*f));

	f->asking = (struct asking){ .client = client, .devices = devices, .lost = lost };
	if (client)
		client_set_late(client, handle_late_answer, f);
	return f;
}

void remote_files_free(struct remote_files *f)
{
	if (!f)
		return;
	if (f->asking.client)
		client_set_late(f->asking.client, NULL, NULL);
	asking_fini(&f->asking);
	free(f->to_close);
	free(f);
}

struct asking *remote_files_asking(struct remote_files *f)
{
	return &f->asking;
}

static void lock_openers(const struct remote_files *f)
{
	if (f->asking.client)
		client_lock(f->asking.client);
}

static void unlock_openers(const struct remote_files *f)
{
	if (f->asking.client)
		client_unlock(f->asking.client);
}

/* Ask an opener for something of @place, which it may hang in. */
static int ask_opener_at(struct remote_files *f, uint64_t place, struct ask *what,
			 const void *payload, struct lane_event *ret, struct error *e)
{
	what->place = place;

	const int err = asking_ask(&f->asking, ROLE_OPENER, what, payload, ret, e);

	if (!err)
		asking_note_shortage(&f->asking, ret->answer.result);
	return err;
}

/* -- Lists. -- */

static int read_list_answer(struct remote_files *f, const struct lane_event *event,
			    struct remote_list *ret, struct error *e)
{
	cleanup_free char *block = asking_copy(event);

	if (!block || !block_read(block, event->answer.n_bytes, false, &ret->list)) {
		client_distrust(f->asking.client);
		return error_set(e, -EBADMSG, "an opener sent an invalid list of mappings");
	}
	ret->block = TAKE(block);
	return 0;
}

/* A process whose memory map stays locked holds up its own list. */
static void warn_silence(struct remote_files *f, uint32_t pid)
{
	if (!f->has_warned_silence)
		log_warn("the mappings of process %u cannot be read in time: its user stacks, and "
			 "those of others like it, may be cut",
			 pid);
	f->has_warned_silence = true;
}

static int ask_maps(struct remote_files *f, uint32_t pid, struct remote_list *ret, struct error *e)
{
	struct ask what = { .what = ASK_LIST, .pid = pid };
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct lane_event event;
	const int err = asking_ask(&f->asking, ROLE_OPENER, &what, NULL, &event, e);

	ret->cost = err ? clock_ns(CLOCK_MONOTONIC) - begin : event.cpu_ns;
	if (asking_took_too_long(&event))
		warn_silence(f, pid);
	if (err)
		return err;
	if (event.answer.result)
		return error_set(e, event.answer.result, "%.95s", event.answer.words);
	return read_list_answer(f, &event, ret, e);
}

int remote_list(struct remote_files *f, uint32_t pid, struct remote_list *ret, struct error *e)
{
	*ret = (struct remote_list){};
	lock_openers(f);

	const int err = ask_maps(f, pid, ret, e);

	unlock_openers(f);
	return err;
}

void remote_list_fini(struct remote_list *list)
{
	mapping_list_fini(&list->list);
	free(list->block);
	free(list->states);
	*list = (struct remote_list){};
}

/* -- States of files. -- */

/* Mappings of one process, whose files are on one device. */
struct wanted {
	uint32_t tid;
	const struct mapping *m;
	size_t n;
};

/*
 * Adds the CPU time in ns to @cost, or the wall time if there was no answer. False: there was none.
 */
static bool ask_states(struct remote_files *f, enum find_where where, const struct wanted *w,
		       struct file_fact *ret, uint64_t *cost)
{
	const uint64_t place = finding_place(&(struct finding){ where, w->tid, HANDLE_NONE }, w->m);
	struct ask what = { .what = ASK_STATES, .flags = where, .pid = w->tid };
	cleanup_free char *block = block_make(w->m, w->n, w->tid, OPENER_AREA, &what.n_bytes);
	cleanup_free char *facts = NULL;
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct lane_event event;
	struct error e;

	if (ask_opener_at(f, place, &what, block, &event, &e)) {
		*cost += clock_ns(CLOCK_MONOTONIC) - begin;
		return false;
	}
	*cost += event.cpu_ns;
	facts = asking_copy(&event);
	if (facts && event.answer.n_bytes <= w->n * sizeof(*ret)) {
		memcpy(ret, facts, event.answer.n_bytes);
		return true;
	}
	client_distrust(f->asking.client);
	return false;
}

/* Try each location in turn for the files that the earlier ones missed. */
static void find_states(struct remote_files *f, const struct wanted *w, struct file_fact *ret,
			uint64_t *cost)
{
	cleanup_free struct mapping *missed = xcalloc(w->n, sizeof(*missed));
	cleanup_free size_t *places = xcalloc(w->n, sizeof(*places));
	bool is_answered = true;

	for (size_t k = 0; k < FINDING_OF_PLACE && is_answered; k++) {
		cleanup_free struct file_fact *found = xcalloc(w->n, sizeof(*found));
		struct wanted rest = { .tid = w->tid, .m = missed };

		for (size_t i = 0; i < w->n; i++) {
			if (ret[i].is_there || (k && w->m[i].is_deleted))
				continue;
			places[rest.n] = i;
			missed[rest.n++] = w->m[i];
		}
		is_answered = rest.n && ask_states(f, finding_order[k], &rest, found, cost);
		for (size_t i = 0; i < rest.n; i++)
			ret[places[i]] = found[i];
	}
}

/* Copy the mappings on the device of mapping @first to @ret, and their indexes to @places. */
static size_t copy_device_mappings(const struct remote_list *list, size_t first,
				   struct mapping *ret, size_t *places)
{
	size_t n = 0;

	for (size_t i = first; i < list->list.n; i++) {
		const struct mapping *m = &list->list.mappings[i];

		if (!m->inode || m->dev != list->list.mappings[first].dev)
			continue;
		places[n] = i;
		ret[n++] = *m;
	}
	return n;
}

/* One request for each device, so that a silence names the device. */
static void identify_files(struct remote_files *f, struct remote_list *list)
{
	const size_t n = list->list.n;
	cleanup_free struct mapping *some = xcalloc(n, sizeof(*some));
	cleanup_free size_t *places = xcalloc(n, sizeof(*places));
	cleanup_free bool *is_done = xcalloc(n, sizeof(*is_done));
	cleanup_free struct file_fact *facts = xcalloc(n, sizeof(*facts));

	for (size_t first = 0; first < n; first++) {
		if (is_done[first] || !list->list.mappings[first].inode)
			continue;

		const size_t n_some = copy_device_mappings(list, first, some, places);

		find_states(f, &(struct wanted){ list->list.tid, some, n_some }, facts,
			    &list->cost);
		for (size_t i = 0; i < n_some; i++) {
			list->states[places[i]] =
				(struct file_state){ some[i].dev, some[i].inode, facts[i] };
			is_done[places[i]] = true;
		}
		memset(facts, 0, n_some * sizeof(*facts));
	}
}

void remote_identify(struct remote_files *f, struct remote_list *list)
{
	list->states = xcalloc(list->list.n, sizeof(*list->states));
	lock_openers(f);
	identify_files(f, list);
	unlock_openers(f);
}

bool remote_state(struct remote_files *f, uint32_t pid, const struct mapping *m,
		  struct file_state *ret)
{
	struct file_fact fact = {};
	uint64_t cost = 0;

	lock_openers(f);
	find_states(f, &(struct wanted){ pid, m, 1 }, &fact, &cost);
	unlock_openers(f);
	*ret = (struct file_state){ m->dev, m->inode, fact };
	return fact.is_there;
}

/* -- Handles. -- */

/* Descriptors that openers need for a moment. */
#define SPARE_HANDLES 16
#define FEWEST_HANDLES 8

size_t remote_most_handles(void)
{
	const size_t taken = SEAT_OURS + SPARE_HANDLES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > SEAT_MOST_FILES)
		return SEAT_MOST_FILES - taken;
	return limit.rlim_max > taken + FEWEST_HANDLES ? limit.rlim_max - taken : FEWEST_HANDLES;
}

/* Read and check an answer with a struct open_fact. */
static int read_open_answer(struct remote_files *f, const struct lane_event *event,
			    struct open_fact *ret, struct error *e)
{
	if (event->answer.result)
		return error_set(e, event->answer.result, "%.95s", event->answer.words);

	cleanup_free char *copy = asking_copy(event);

	if (copy && event->answer.n_bytes == sizeof(*ret))
		memcpy(ret, copy, sizeof(*ret));
	if (!copy || event->answer.n_bytes != sizeof(*ret) || !is_handle(ret->handle) ||
	    !devices_is_number(ret->fact.dev)) {
		client_distrust(f->asking.client);
		return error_set(e, -EBADMSG, "its opener sent an invalid answer");
	}
	return 0;
}

static int ask_opener_to_open(struct remote_files *f, uint32_t pid, const struct open_payload *head,
			      const struct mapping *m, struct remote_handle *ret, struct error *e)
{
	const uint64_t place = finding_place(&(struct finding){ head->where, pid, head->root }, m);
	struct ask what = { .what = ASK_OPEN, .pid = pid };
	struct lane_event event;
	struct open_fact fact;
	cleanup_free void *payload = block_behind(head, sizeof(*head), m, pid, &what.n_bytes);
	int err = ask_opener_at(f, place, &what, payload, &event, e);

	if (!err)
		err = read_open_answer(f, &event, &fact, e);
	if (!err)
		*ret = (struct remote_handle){ fact.handle,
					       head->where == FIND_OURS ? fact.fact.dev : m->dev,
					       fact.fact };
	return err;
}

static int open_locked(struct remote_files *f, uint32_t pid, const struct open_payload *head,
		       const struct mapping *m, struct remote_handle *ret, struct error *e)
{
	lock_openers(f);

	const int err = ask_opener_to_open(f, pid, head, m, ret, e);

	unlock_openers(f);
	return err;
}

int remote_open(struct remote_files *f, uint32_t pid, int root, const struct mapping *m,
		struct remote_handle *ret, struct error *e)
{
	const size_t n = root == HANDLE_NONE ? FINDING_OF_PLACE : FINDING_OF_ROOT;
	struct error inner;
	int first = 0;

	for (size_t k = 0; k < n; k++) {
		const struct open_payload head = { .root = root, .where = finding_order[k] };

		if (!finding_may_be(head.where, m))
			continue;

		const int err = open_locked(f, pid, &head, m, ret, k ? &inner : e);

		first = k ? first : err;
		if (!finding_is_missed(err))
			return err ? first : 0;
	}
	return first;
}

int remote_open_ours(struct remote_files *f, const struct mapping *m, struct remote_handle *ret,
		     struct error *e)
{
	const struct open_payload head = { .root = HANDLE_NONE, .where = FIND_OURS };

	return open_locked(f, 0, &head, m, ret, e);
}

int remote_root(struct remote_files *f, uint32_t pid, uint64_t dev, uint64_t inode)
{
	struct ask what = { .what = ASK_ROOT, .pid = pid };
	struct lane_event event;
	struct open_fact fact = {};
	struct error e;

	lock_openers(f);

	int err = ask_opener_at(f, dev, &what, NULL, &event, &e);

	if (!err)
		err = read_open_answer(f, &event, &fact, &e);
	unlock_openers(f);
	if (err)
		return HANDLE_NONE;
	if (fact.fact.inode == inode && fact.fact.dev == dev)
		return fact.handle;
	remote_close(f, fact.handle);
	return HANDLE_NONE;
}

/* Ask for the states of @n handles on device @dev. */
static void ask_facts(struct remote_files *f, uint64_t dev, const int *handles, size_t n,
		      struct file_fact *ret)
{
	struct ask what = { .what = ASK_FACTS, .n_bytes = n * sizeof(*handles) };
	cleanup_free char *copy = NULL;
	struct lane_event event;
	struct error e;

	if (ask_opener_at(f, dev, &what, handles, &event, &e))
		return;
	copy = asking_copy(&event);
	if (copy && event.answer.n_bytes == n * sizeof(*ret))
		memcpy(ret, copy, event.answer.n_bytes);
	else
		client_distrust(f->asking.client);
}

void remote_facts(struct remote_files *f, const struct remote_handle *handles, size_t n,
		  struct file_fact *ret)
{
	cleanup_free int *some = xcalloc(n, sizeof(*some));
	cleanup_free size_t *places = xcalloc(n, sizeof(*places));
	cleanup_free bool *is_done = xcalloc(n, sizeof(*is_done));
	cleanup_free struct file_fact *facts = xcalloc(n, sizeof(*facts));

	lock_openers(f);
	for (size_t first = 0; first < n; first++) {
		size_t n_some = 0;

		for (size_t i = first; i < n && !is_done[first]; i++) {
			if (handles[i].dev != handles[first].dev)
				continue;
			places[n_some] = i;
			some[n_some++] = handles[i].handle;
		}
		memset(facts, 0, n_some * sizeof(*facts));
		if (n_some)
			ask_facts(f, handles[first].dev, some, n_some, facts);
		for (size_t i = 0; i < n_some; i++) {
			ret[places[i]] = facts[i];
			is_done[places[i]] = true;
		}
	}
	unlock_openers(f);
}

/* Call this with the lock held. */
static void close_all_handles(struct remote_files *f)
{
	struct ask what = { .what = ASK_CLOSE, .n_bytes = f->n_to_close * sizeof(*f->to_close) };
	cleanup_free int32_t *handles = TAKE(f->to_close); /* handle_late_answer() may add some */
	const size_t n = f->n_to_close;
	struct lane_event event;
	struct error e;

	f->n_to_close = f->to_close_capacity = 0;
	f->close_at = 0;
	if (!asking_ask(&f->asking, ROLE_OPENER, &what, handles, &event, &e))
		return;
	f->close_at = n + CLOSE_AT_ONCE;
	log_debug("files are not closed: %s", e.text);
	for (size_t i = 0; i < n && !what.number; i++) /* no opener has the request */
		array_push(f->to_close, f->n_to_close, f->to_close_capacity, handles[i]);
}

void remote_close(struct remote_files *f, int handle)
{
	if (handle == HANDLE_NONE)
		return;
	lock_openers(f);
	array_push(f->to_close, f->n_to_close, f->to_close_capacity, handle);
	if (f->n_to_close >= CLOSE_AT_ONCE && f->n_to_close >= f->close_at)
		close_all_handles(f);
	unlock_openers(f);
}

static int ask_debug(struct remote_files *f, struct debug_search *s, struct open_fact *ret,
		     struct error *e)
{
	const struct debug_payload head = {
		.root = s->root, .from = s->at, .user = s->user, .hint = *s->hint
	};
	const size_t n_path = strlen(s->path) + 1;
	struct ask what = { .what = ASK_OPEN_DEBUG, .n_bytes = sizeof(head) + n_path };
	cleanup_free char *payload = xmalloc(what.n_bytes);
	struct lane_event event;

	memcpy(payload, &head, sizeof(head));
	memcpy(payload + sizeof(head), s->path, n_path);

	const uint64_t place = devices_place_below(DEVICES_DEBUG_FILES, s->root, s->user);
	const int err = ask_opener_at(f, place, &what, payload, &event, e);

	s->is_missed = s->is_missed || err || event.answer.n;
	return err ? err : read_open_answer(f, &event, ret, e);
}

int remote_open_debug(struct remote_files *f, struct debug_search *s, struct remote_handle *ret,
		      struct error *e)
{
	struct open_fact fact = {};

	lock_openers(f);

	const int err = ask_debug(f, s, &fact, e);

	unlock_openers(f);
	if (err)
		return err;
	s->at = fact.at;
	*ret = (struct remote_handle){ fact.handle, fact.fact.dev, fact.fact };
	return 0;
}

int remote_send(struct remote_files *f, const struct remote_handle *handle, uint32_t number,
		uint32_t files, int32_t parser, struct error *e)
{
	const struct send_payload payload = {
		handle->fact, handle->handle, number, files, parser,
	};
	struct ask what = { .what = ASK_SEND, .n_bytes = sizeof(payload) };
	struct lane_event event;

	what.is_roots = handle->fact.is_roots;
	lock_openers(f);

	const int err = ask_opener_at(f, handle->dev, &what, &payload, &event, e);

	unlock_openers(f);
	if (err)
		return err;
	return event.answer.result
		       ? error_set(e, event.answer.result, "%s", error_words(event.answer.result))
		       : 0;
}

/* -- Perf maps. -- */

static int read_perf_map_answer(struct remote_files *f, const struct lane_event *event,
				struct remote_perf_map *ret, struct error *e)
{
	const size_t n = event->answer.n_bytes;

	if (event->answer.result)
		return error_set(e, event->answer.result, "%.95s", event->answer.words);
	ret->memory = asking_copy(event);
	if (!ret->memory || n < sizeof(ret->fact)) {
		client_distrust(f->asking.client);
		cleanup_free_p(&ret->memory);
		return error_set(e, -EBADMSG, "its opener sent an invalid answer");
	}
	memcpy(&ret->fact, ret->memory, sizeof(ret->fact));
	ret->text = ret->memory + sizeof(ret->fact);
	ret->n = n - sizeof(ret->fact);
	return 0;
}

int remote_perf_map(struct remote_files *f, const struct perf_payload *what,
		    struct remote_perf_map *ret, struct error *e)
{
	const uint64_t place = devices_place_below(DEVICES_PERF_MAPS, what->root, what->user);
	struct ask ask = { .what = ASK_PERF_MAP, .n_bytes = sizeof(*what) };
	struct lane_event event;

	*ret = (struct remote_perf_map){};
	lock_openers(f);

	int err = ask_opener_at(f, place, &ask, what, &event, e);

	if (!err)
		err = read_perf_map_answer(f, &event, ret, e);
	unlock_openers(f);
	return err;
}
