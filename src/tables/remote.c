// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tables/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "reader/spending.h"

#define MOST_NAMED 3 /* files that warnings name */

struct remote {
	struct remote_files *files;
	struct asking *asking; /* of @files */
	struct client *client; /* of @asking */
	struct spending spending;
	struct spending lists; /* of users whose processes have made an opener wait for long */
	uint32_t last_file;
	size_t n_failed; /* files at which a parser failed */
};

struct remote *remote_new(struct remote_files *files, uint64_t most_of_user_ns)
{
	struct remote *r = xcalloc(1, sizeof(*r));

	r->files = files;
	r->asking = remote_files_asking(files);
	r->client = r->asking->client;
	r->spending = (struct spending){ .most_ns = most_of_user_ns,
					 .after = "this user's other files get no unwind tables" };
	r->lists = (struct spending){ .most_ns = most_of_user_ns,
				      .after = "mappings of this user's processes are not read, "
					       "and their stacks are cut" };
	return r;
}

void remote_free(struct remote *r)
{
	if (!r)
		return;
	if (r->n_failed > MOST_NAMED)
		log_warn("%zu more files have no unwind table: their readers failed",
			 r->n_failed - MOST_NAMED);
	spending_fini(&r->spending);
	spending_fini(&r->lists);
	free(r);
}

struct remote_files *remote_files_of(struct remote *r)
{
	return r->files;
}

/* -- Tables. -- */

void remote_table_fini(struct remote_table *t)
{
	free(t->memory);
	*t = (struct remote_table){};
}

static int read_table_answer(struct remote *r, const struct lane_event *event,
			     struct remote_table *ret, struct error *e)
{
	const struct answer *answer = &event->answer;
	int32_t result = 0;

	if (answer->result)
		return error_set(e, answer->n ? -ENOEXEC : -EAGAIN, "%.95s", answer->words);

	cleanup_free char *memory = asking_copy(event);

	if (!memory || !table_read(memory, answer->n_bytes, &result, &ret->view)) {
		ret->view = (struct table_view){};
		client_distrust(r->client);
		return -EBADMSG;
	}
	ret->memory = TAKE(memory);
	if (result == -EIO || result == -EBADMSG || result == -EAGAIN)
		result = -ENODATA; /* callers would take these for failures of helpers */
	return result ? error_set(e, result, "%.95s", answer->words) : 0;
}

static const char *name_of_mapping(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

/* A parser failed at file @name. Warns about the first MOST_NAMED files. */
static int warn_parser_failed(struct remote *r, const char *name, const char *why, struct error *e)
{
	if (r->n_failed++ < MOST_NAMED)
		log_warn("%s has no unwind table: %s", name, why);
	return error_set(e, -EIO, "%s", why);
}

struct question {
	unsigned role;
	const char *name; /* of the file, for messages */
	struct ask ask;
	const void *payload;
	uint64_t cpu_ns; /* of the helper, for the answer */
};

static int ask_table(struct remote *r, struct question *q, struct remote_table *ret,
		     struct error *e)
{
	struct lane_event event = {};
	char why[128];
	int err = asking_ask(r->asking, q->role, &q->ask, q->payload, &event, e);

	q->cpu_ns = event.cpu_ns;
	if (!err)
		err = read_table_answer(r, &event, ret, e);
	if (err == -EBADMSG)
		event.why = LANE_LIED;
	if (err != -EIO && err != -EBADMSG)
		return err;
	client_explain(&event, why, sizeof(why));
	return warn_parser_failed(r, q->name, why, e);
}

/* Ask an opener to send @m's file, by the ASK_FILE @what. */
static int ask_opener_to_send(struct remote *r, uint32_t pid, const struct mapping *m,
			      struct ask *what, const struct file_payload *head, struct error *e)
{
	struct lane_event event;
	cleanup_free void *payload = block_behind(head, sizeof(*head), m, pid, &what->n_bytes);
	const int err = asking_ask(r->asking, ROLE_OPENER, what, payload, &event, e);

	if (err || !event.answer.result)
		return err;
	asking_note_shortage(r->asking, event.answer.result);
	return error_set(e, event.answer.result, "%s", error_words(event.answer.result));
}

/* Have the opener send @m's file to a parser of @role, as number @file. */
static int pass_file_to_parser(struct remote *r, uint32_t pid, const struct mapping *m,
			       const struct file_state *state, unsigned role, struct error *e)
{
	struct file_payload head = { .expected = state->fact, .number = r->last_file };
	int err = asking_address(r->asking, role, &head.files, &head.to, e);

	if (err)
		return err;
	for (size_t k = 0; k < FINDING_OF_PLACE && (!k || finding_is_missed(err)); k++) {
		const struct finding at = { finding_order[k], pid, HANDLE_NONE };
		struct ask what = { .what = ASK_FILE,
				    .flags = at.where,
				    .place = finding_place(&at, m) };

		if (finding_may_be(finding_order[k], m))
			err = ask_opener_to_send(r, pid, m, &what, &head, e);
	}
	return err;
}

static int request_table(struct remote *r, uint32_t pid, const struct mapping *m,
			 const struct file_state *state, struct remote_table *ret, struct error *e)
{
	const char *name = name_of_mapping(m);
	struct question q = {
		.role = state->fact.is_roots ? ROLE_PARSER : ROLE_PARSER_OF_OTHERS,
		.name = name,
		.ask = { .what = ASK_TABLE,
			 .place = devices_place_of_contents(m->dev, state->fact.owner),
			 .file = ++r->last_file,
			 .n_bytes = strlen(name) },
		.payload = name,
	};

	/*
	 * The user whose process maps the file pays: a file system of a user may give its files
	 * any owner. 0 pays nothing.
	 */
	const uint32_t user = state->fact.is_roots ? 0 : finding_user_of(pid);
	const uint32_t payer = user ? user : state->fact.owner;
	int err = spending_check(&r->spending, payer);

	if (err)
		return error_set(e, err, "files of its user took too much time");

	const uint64_t began = clock_ns(CLOCK_MONOTONIC);

	err = pass_file_to_parser(r, pid, m, state, q.role, e);

	if (err)
		err = error_set(e, -EAGAIN, "its file cannot be had");
	else
		err = ask_table(r, &q, ret, e);

	spending_add(&r->spending, payer, q.cpu_ns, clock_ns(CLOCK_MONOTONIC) - began);
	return err;
}

/* The user of process @pid pays if the list took long, from @began on. */
static void pay_for_list(struct remote *r, uint32_t pid, uint64_t began)
{
	const uint64_t took = clock_ns(CLOCK_MONOTONIC) - began;

	if (took > SPENDING_LONG_WAIT_NS)
		spending_add(&r->lists, finding_user_of(pid), 0, took);
}

int remote_mappings(struct remote *r, uint32_t pid, struct remote_list *ret, struct error *e)
{
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	int err = r->lists.n ? spending_check(&r->lists, finding_user_of(pid)) : 0;

	*ret = (struct remote_list){};
	if (err)
		return error_set(e, err, "its user's processes took too much time");
	err = remote_list(r->files, pid, ret, e);
	if (!err)
		remote_identify(r->files, ret);
	pay_for_list(r, pid, began);
	return err;
}

bool remote_mappings_stay(struct remote *r, uint32_t pid, struct remote_list *list)
{
	cleanup(remote_list_fini) struct remote_list now = {};
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	struct error e;
	const bool is_equal = remote_list(r->files, pid, &now, &e) == 0 &&
			      mapping_list_is_equal(&list->list, &now.list);

	pay_for_list(r, pid, began);
	list->cost += now.cost;
	return is_equal;
}

int remote_table_make(struct remote *r, uint32_t pid, const struct mapping *m,
		      const struct file_state *state, struct remote_table *ret, struct error *e)
{
	*ret = (struct remote_table){};
	client_lock(r->client);

	const int err = request_table(r, pid, m, state, ret, e);

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
