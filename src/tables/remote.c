// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "helper/channel.h"
#include "reader/roles.h"

#define MOST_TOLD 3 /* files, by name */

/*
 * An opener that was asked for files of this device did not come back in time. One that could be
 * ended was only slow, perhaps: the device is tried once more. A dead one is not.
 */
struct silent {
	uint64_t dev;
	bool is_dead;
};

/* What files of this user have taken, but for root's. */
struct spent {
	uint32_t user;
	uint64_t ns; /* of helpers' CPU time */
};

struct remote {
	struct client *client;
	uint64_t most_of_user_ns;
	struct spent *spent;
	size_t n_spent, spent_capacity;
	uint32_t last_file;
	struct silent *silent; /* devices that did not answer */
	size_t n_silent, silent_capacity;
	size_t n_failed; /* files whose reader failed */
	bool was_absence_told, was_shortage_told, was_silence_told;
	bool were_layers_told[READER_ROLES];
};

bool file_state_is_equal(const struct file_state *a, const struct file_state *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->fact.size == b->fact.size &&
	       a->fact.changed == b->fact.changed && a->fact.changed_ns == b->fact.changed_ns;
}

struct remote *remote_new(struct client *client, uint64_t most_of_user_ns)
{
	struct remote *r = xcalloc(1, sizeof(*r));

	r->client = client;
	r->most_of_user_ns = most_of_user_ns;
	return r;
}

void remote_free(struct remote *r)
{
	if (!r)
		return;
	if (r->n_failed > MOST_TOLD)
		log_warn("%zu more files have no unwind table: their readers failed",
			 r->n_failed - MOST_TOLD);
	free(r->silent);
	free(r->spent);
	free(r);
}

/* -- Asking. -- */

/* Without a helper there is no new table, and no process that is new has one. */
static void tell_absence(struct remote *r, int err, const struct error *e)
{
	if (err != -ENOTCONN || r->was_absence_told)
		return;
	r->was_absence_told = true;
	log_warn("user stacks may be cut for lack of an unwind table: %s", e->text);
}

/* For --debug: old kernels, and containers, have less than all. */
static void tell_layers(struct remote *r, unsigned role, uint32_t layers)
{
	const struct role *of = &reader_roles[role];

	if (!r->were_layers_told[role] && !(layers & LAYER_SECCOMP))
		log_debug("%s has no seccomp filter", of->name);
	if (!r->were_layers_told[role] && of->sandbox == SANDBOX_PARSER &&
	    !(layers & LAYER_LANDLOCK))
		log_debug("%s is not kept from paths by Landlock", of->name);
	r->were_layers_told[role] = true;
}

static int ask(struct remote *r, unsigned role, struct ask *what, const void *payload,
	       struct lane_event *ret, struct error *e)
{
	const int err = client_ask(r->client, role, what, payload, ret, e);

	tell_absence(r, err, e);
	if (!err)
		tell_layers(r, role, ret->layers);
	return err;
}

/* A copy of the answer's area: what is checked does not change any more. To free(). */
static char *copy_area(const struct lane_event *event)
{
	cleanup_free char *copy = xmalloc(event->answer.n_bytes);

	if (area_read(event->area, 0, copy, event->answer.n_bytes) < 0)
		return NULL;
	return TAKE(copy);
}

static bool did_not_answer(int err, const struct lane_event *event)
{
	return err == -EIO && (event->why == LANE_SLOW || event->why == LANE_STUCK);
}

static struct silent *silent_of(const struct remote *r, uint64_t dev)
{
	for (size_t i = 0; i < r->n_silent; i++)
		if (r->silent[i].dev == dev)
			return &r->silent[i];
	return NULL;
}

static bool is_dead(const struct remote *r, uint64_t dev)
{
	const struct silent *known = silent_of(r, dev);

	return known && known->is_dead;
}

/* Files of @dev were found. */
static void forget_silence(struct remote *r, uint64_t dev)
{
	struct silent *known = silent_of(r, dev);

	if (known)
		*known = r->silent[--r->n_silent];
}

/* An opener that was asked for files of @dev did not answer. */
static void note_silence(struct remote *r, uint64_t dev, const struct lane_event *event)
{
	struct silent *known = silent_of(r, dev);
	const bool is_dead = known || event->is_in_call;

	if (known)
		known->is_dead = true;
	else
		array_push(r->silent, r->n_silent, r->silent_capacity,
			   ((struct silent){ dev, is_dead }));
	if (!is_dead)
		return;
	log_warn("a file system does not answer (device %u:%u): nothing more of it is opened, and "
		 "user stacks in its files are cut",
		 major(dev), minor(dev));
}

/* -- Lists. -- */

static int take_list(struct remote *r, const struct lane_event *event, struct remote_list *ret,
		     struct error *e)
{
	cleanup_free char *block = copy_area(event);

	if (!block || !block_read(block, event->answer.n_bytes, false, &ret->list)) {
		client_distrust(r->client);
		return error_set(e, -EBADMSG, "its list of mappings makes no sense");
	}
	ret->block = TAKE(block);
	return 0;
}

/* Whoever holds a process's memory map locked holds up its list. */
static void tell_silence(struct remote *r, uint32_t pid)
{
	if (!r->was_silence_told)
		log_warn("the mappings of process %u cannot be read in time: its user stacks, and "
			 "those of others like it, may be cut",
			 pid);
	r->was_silence_told = true;
}

static int ask_list(struct remote *r, uint32_t pid, struct remote_list *ret, struct error *e)
{
	struct ask what = { .what = ASK_LIST, .pid = pid };
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct lane_event event;
	const int err = ask(r, ROLE_OPENER, &what, NULL, &event, e);

	ret->cost = err ? clock_ns(CLOCK_MONOTONIC) - begin : event.cpu_ns;
	if (did_not_answer(err, &event))
		tell_silence(r, pid);
	if (err)
		return err;
	if (event.answer.result)
		return error_set(e, event.answer.result, "%.95s", event.answer.words);
	return take_list(r, &event, ret, e);
}

int remote_list(struct remote *r, uint32_t pid, struct remote_list *ret, struct error *e)
{
	*ret = (struct remote_list){};
	client_lock(r->client);

	const int err = ask_list(r, pid, ret, e);

	client_unlock(r->client);
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

/* A run has descriptors left for this (tool/limits.h), but the system may have none. */
static void tell_shortage(struct remote *r, int err)
{
	if ((err != -EMFILE && err != -ENFILE) || r->was_shortage_told)
		return;
	r->was_shortage_told = true;
	log_warn("user stacks may be cut for lack of an unwind table: open files: %s",
		 error_words(err));
}

/* Those of the @n mappings at @m, all of one device, in @ret. */
static void ask_states(struct remote *r, uint32_t tid, const struct mapping *m, size_t n,
		       struct file_fact *ret, uint64_t *cost)
{
	struct ask what = { .what = ASK_STATES, .pid = tid };
	cleanup_free char *block = block_make(m, n, tid, OPENER_AREA, &what.n_bytes);
	cleanup_free char *facts = NULL;
	struct lane_event event;
	struct error e;
	const int err = ask(r, ROLE_OPENER, &what, block, &event, &e);

	if (did_not_answer(err, &event))
		note_silence(r, m->dev, &event);
	if (err)
		return;
	forget_silence(r, m->dev);
	*cost += event.cpu_ns;
	tell_shortage(r, event.answer.result);
	facts = copy_area(&event);
	if (facts && event.answer.n_bytes <= n * sizeof(*ret))
		memcpy(ret, facts, event.answer.n_bytes);
	else
		client_distrust(r->client);
}

/* Those among @list of the device of mapping @first, and remember where they stand. */
static size_t take_device(const struct remote *r, const struct remote_list *list, size_t first,
			  struct mapping *ret, size_t *places)
{
	const uint64_t dev = list->list.mappings[first].dev;
	size_t n = 0;

	for (size_t i = first; i < list->list.n && !is_dead(r, dev); i++) {
		const struct mapping *m = &list->list.mappings[i];

		if (!m->inode || m->dev != dev)
			continue;
		places[n] = i;
		ret[n++] = *m;
	}
	return n;
}

/* By devices, so that it is known which one does not answer. */
static void identify(struct remote *r, struct remote_list *list)
{
	const size_t n = list->list.n;
	cleanup_free struct mapping *some = xcalloc(n, sizeof(*some));
	cleanup_free size_t *places = xcalloc(n, sizeof(*places));
	cleanup_free bool *is_done = xcalloc(n, sizeof(*is_done));
	cleanup_free struct file_fact *facts = xcalloc(n, sizeof(*facts));

	for (size_t first = 0; first < n; first++) {
		if (is_done[first] || !list->list.mappings[first].inode)
			continue;

		const size_t n_some = take_device(r, list, first, some, places);

		if (n_some)
			ask_states(r, list->list.tid, some, n_some, facts, &list->cost);
		for (size_t i = 0; i < n_some; i++) {
			list->states[places[i]] =
				(struct file_state){ some[i].dev, some[i].inode, facts[i] };
			is_done[places[i]] = true;
		}
		memset(facts, 0, n_some * sizeof(*facts));
	}
}

void remote_identify(struct remote *r, struct remote_list *list)
{
	list->states = xcalloc(list->list.n, sizeof(*list->states));
	client_lock(r->client);
	identify(r, list);
	client_unlock(r->client);
}

bool remote_state(struct remote *r, uint32_t pid, const struct mapping *m, struct file_state *ret)
{
	struct file_fact fact = {};
	uint64_t cost = 0;

	client_lock(r->client);
	if (!is_dead(r, m->dev))
		ask_states(r, pid, m, 1, &fact, &cost);
	client_unlock(r->client);
	*ret = (struct file_state){ m->dev, m->inode, fact };
	return fact.is_there;
}

/* -- Tables. -- */

size_t remote_table_bytes(const struct remote_table *table)
{
	const struct table_view *t = &table->view;

	return t->n_pages * sizeof(*t->pages) + t->n_entries * sizeof(*t->entries) +
	       t->n_rules * sizeof(*t->rules);
}

void remote_table_fini(struct remote_table *t)
{
	free(t->memory);
	*t = (struct remote_table){};
}

static int take_table(struct remote *r, const struct lane_event *event, struct remote_table *ret,
		      struct error *e)
{
	const struct answer *answer = &event->answer;
	int32_t result = 0;

	if (answer->result)
		return error_set(e, answer->n ? -ENOEXEC : -EAGAIN, "%.95s", answer->words);

	cleanup_free char *memory = copy_area(event);

	if (!memory || !table_read(memory, answer->n_bytes, &result, &ret->view)) {
		ret->view = (struct table_view){};
		client_distrust(r->client);
		return -EBADMSG;
	}
	ret->memory = TAKE(memory);
	if (result == -EIO || result == -EBADMSG || result == -EAGAIN)
		result = -ENODATA; /* these have a meaning here */
	return result ? error_set(e, result, "%.95s", answer->words) : 0;
}

static const char *name_of(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

/* The reader of @name failed. Of the first ones that is said. */
static int tell_failed(struct remote *r, const char *name, const char *why, struct error *e)
{
	if (r->n_failed++ < MOST_TOLD)
		log_warn("%s has no unwind table: %s", name, why);
	return error_set(e, -EIO, "%s", why);
}

struct question {
	unsigned role;
	const char *name; /* of the file, for messages */
	struct ask ask;
	const void *payload;
	uint64_t cpu_ns; /* that the answer took */
};

static int ask_table(struct remote *r, struct question *q, struct remote_table *ret,
		     struct error *e)
{
	struct lane_event event = {};
	char why[128];
	int err = ask(r, q->role, &q->ask, q->payload, &event, e);

	q->cpu_ns = event.cpu_ns;
	if (!err)
		err = take_table(r, &event, ret, e);
	if (err == -EBADMSG)
		event.why = LANE_LIED;
	if (err != -EIO && err != -EBADMSG)
		return err;
	client_explain(&event, why, sizeof(why));
	return tell_failed(r, q->name, why, e);
}

/* Have the opener send @m's file to a parser of @role, as number @file. */
static int pass_file(struct remote *r, uint32_t pid, const struct mapping *m,
		     const struct file_state *state, unsigned role, struct error *e)
{
	struct file_payload head = { .expected = state->fact, .number = r->last_file };
	struct ask what = { .what = ASK_FILE };
	struct lane_event event;
	size_t n;
	int err = client_address(r->client, role, &head.files, &head.to, e);

	tell_absence(r, err, e);
	if (err)
		return err;

	cleanup_free char *block = block_make(m, 1, pid, OPENER_AREA, &n);
	cleanup_free char *payload = xmalloc(sizeof(head) + n);

	memcpy(payload, &head, sizeof(head));
	memcpy(payload + sizeof(head), block, n);
	what.n_bytes = sizeof(head) + n;
	err = ask(r, ROLE_OPENER, &what, payload, &event, e);
	if (did_not_answer(err, &event))
		note_silence(r, m->dev, &event);
	if (!err && event.answer.result) {
		tell_shortage(r, event.answer.result);
		err = error_set(e, -EAGAIN, "%s", error_words(event.answer.result));
	}
	return err;
}

static struct spent *spent_of(struct remote *r, uint32_t user)
{
	for (size_t i = 0; i < r->n_spent; i++)
		if (r->spent[i].user == user)
			return &r->spent[i];
	array_push(r->spent, r->n_spent, r->spent_capacity, (struct spent){ .user = user });
	return &r->spent[r->n_spent - 1];
}

static bool may_spend(const struct remote *r, uint32_t user)
{
	for (size_t i = 0; i < r->n_spent; i++)
		if (r->spent[i].user == user)
			return r->spent[i].ns < r->most_of_user_ns;
	return true;
}

static void spend(struct remote *r, uint32_t user, uint64_t ns)
{
	struct spent *spent = spent_of(r, user);
	const bool may = may_spend(r, user);

	spent->ns += ns;
	if (may && !may_spend(r, user))
		log_warn("files of user %u took %llu s of CPU time: unwind tables of further ones "
			 "are not made",
			 user, (unsigned long long)(r->most_of_user_ns / NS_PER_S));
}

static int make_table(struct remote *r, uint32_t pid, const struct mapping *m,
		      const struct file_state *state, struct remote_table *ret, struct error *e)
{
	const char *name = name_of(m);
	struct question q = {
		.role = state->fact.is_roots ? ROLE_PARSER : ROLE_PARSER_OF_OTHERS,
		.name = name,
		.ask = { .what = ASK_TABLE, .file = ++r->last_file, .n_bytes = strlen(name) },
		.payload = name,
	};

	if (is_dead(r, m->dev))
		return error_set(e, -EAGAIN, "its file system does not answer");
	if (!may_spend(r, state->fact.owner))
		return error_set(e, -EDQUOT, "files of its owner took too much CPU time");
	if (pass_file(r, pid, m, state, q.role, e))
		return error_set(e, -EAGAIN, "its file cannot be had");

	const int err = ask_table(r, &q, ret, e);

	if (state->fact.owner)
		spend(r, state->fact.owner, q.cpu_ns);
	return err;
}

int remote_table_make(struct remote *r, uint32_t pid, const struct mapping *m,
		      const struct file_state *state, struct remote_table *ret, struct error *e)
{
	*ret = (struct remote_table){};
	client_lock(r->client);

	const int err = make_table(r, pid, m, state, ret, e);

	client_unlock(r->client);
	return err;
}

int remote_table_of_vdso(struct remote *r, struct remote_table *ret, struct error *e)
{
	struct question q = { .role = ROLE_PARSER,
			      .name = "[vdso]",
			      .ask = { .what = ASK_MEMORY } };

	*ret = (struct remote_table){};
	q.payload = own_vdso(&q.ask.n_bytes);
	if (!q.payload)
		return error_set(e, -ENOENT, "this process has no vdso");
	client_lock(r->client);

	const int err = ask_table(r, &q, ret, e);

	client_unlock(r->client);
	return err;
}
