// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/asking.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "helper/channel.h"
#include "reader/roles.h"

static void warn_absence(struct asking *a, int err, const struct error *e)
{
	if (err != -ENOTCONN || a->has_warned_absence)
		return;
	a->has_warned_absence = true;
	log_warn("%s: %s", a->lost, e->text);
}

/* For --debug: some kernels and containers lack layers. */
static void log_missing_layers(struct asking *a, unsigned role, uint32_t layers)
{
	const struct role *of = &reader_roles[role];

	if (!a->has_logged_layers[role] && !(layers & LAYER_SECCOMP))
		log_debug("%s has no seccomp filter", of->name);
	if (!a->has_logged_layers[role] && of->sandbox == SANDBOX_PARSER &&
	    !(layers & LAYER_LANDLOCK))
		log_debug("%s is not kept from paths by Landlock", of->name);
	a->has_logged_layers[role] = true;
}

/* Only an opener's silence counts: a parser may wait for memory. */
static void note_failure(struct asking *a, const struct lane_event *event)
{
	if (event->in_call ||
	    (event->role == ROLE_OPENER && (event->why == LANE_SILENT || event->why == LANE_STUCK)))
		devices_note_silence(a->devices, event->ask.place, event->in_call);
}

static void replace_late(struct asking *a, uint64_t place, uint64_t by)
{
	for (size_t i = 0; i < ASKING_MOST_LATE; i++)
		if (a->late[i] == place) {
			a->late[i] = by;
			return;
		}
}

void asking_note_late(struct asking *a, const struct lane_event *event)
{
	const bool is_opener = event->role == ROLE_OPENER;

	if (is_opener && event->ask.place)
		replace_late(a, event->ask.place, 0);
	if (event->what == LANE_FAILED)
		note_failure(a, event);
	else if (is_opener)
		devices_note_answer(a->devices, event->ask.place);
}

/* The caller gives up, because its patience is over. */
static void note_impatience(struct asking *a, const struct ask *what)
{
	if (what->place && what->number)
		replace_late(a, 0, what->place);
	if (what->place)
		log_warn_once("%s: %s",
			      client_waits_in_call(a->client, ROLE_OPENER)
				      ? "a file system does not answer in time"
				      : "helpers have too little CPU time to look at files in time",
			      a->lost);
}

static bool is_answer_late(const struct asking *a, uint64_t place)
{
	for (size_t i = 0; i < ASKING_MOST_LATE; i++)
		if (a->late[i] == place)
			return true;
	return false;
}

static bool may_ask(struct asking *a, uint64_t place)
{
	if (!place)
		return true;
	/* The outcome may have come meanwhile. */
	if (is_answer_late(a, place))
		client_prepare(a->client, ROLE_OPENER);
	return !is_answer_late(a, place) && devices_may_ask(a->devices, place);
}

static int end_unanswered(struct error *e)
{
	return error_set(e, -EAGAIN, "its file system does not answer");
}

/*
 * The run ends, and has no time left for this request (struct client_manner). Files that are closed
 * or looked at again cost no names.
 */
static void warn_end(const struct ask *what)
{
	if (!what || (what->what != ASK_CLOSE && what->what != ASK_FACTS))
		log_warn_once("no symbols for some files: reading them takes too long at the end "
			      "of a run");
}

static int ask_opener(struct asking *a, struct ask *what, const void *payload,
		      struct lane_event *ret, struct error *e)
{
	if (!may_ask(a, what->place))
		return end_unanswered(e);

	int err = client_ask(a->client, ROLE_OPENER, what, payload, ret, e);

	/* No file ends an opener, so something else did. Another opener can do the same work. */
	if (err == -EIO && ret->why == LANE_DIED && what->what != ASK_CLOSE)
		err = client_ask(a->client, ROLE_OPENER, what, payload, ret, e);
	if (err == -ETIME)
		note_impatience(a, what);
	if (!err)
		devices_note_answer(a->devices, what->place);
	if (err != -EIO || !what->place || !asking_took_too_long(ret))
		return err;
	return ret->why == LANE_SLOW ? error_set(e, -EAGAIN, "its reader takes too long")
				     : end_unanswered(e);
}

static int ask_parser(struct asking *a, unsigned role, struct ask *what, const void *payload,
		      struct lane_event *ret, struct error *e)
{
	if (what->place && !devices_may_ask(a->devices, what->place))
		return end_unanswered(e);

	const int err = client_ask(a->client, role, what, payload, ret, e);

	if (!err)
		devices_note_answer(a->devices, what->place);
	return err;
}

int asking_ask(struct asking *a, unsigned role, struct ask *what, const void *payload,
	       struct lane_event *ret, struct error *e)
{
	*ret = (struct lane_event){};
	if (!a->client)
		return error_set(e, -ENOTCONN, "there are no helpers");

	const int err = role == ROLE_OPENER ? ask_opener(a, what, payload, ret, e)
					    : ask_parser(a, role, what, payload, ret, e);

	if (ret->what == LANE_FAILED)
		note_failure(a, ret);
	warn_absence(a, err, e);
	if (err == -EINTR)
		warn_end(what);
	if (!err)
		log_missing_layers(a, role, ret->layers);
	return err;
}

int asking_address(struct asking *a, unsigned role, uint32_t *ret_files, int32_t *ret_pid,
		   struct error *e)
{
	if (!a->client)
		return error_set(e, -ENOTCONN, "there are no helpers");

	const int err = client_address(a->client, role, ret_files, ret_pid, e);

	warn_absence(a, err, e);
	if (err == -EINTR)
		warn_end(NULL);
	return err;
}

void asking_note_shortage(const struct asking *a, int err)
{
	if (err == -EMFILE || err == -ENFILE)
		log_warn_once("%s: open files: %s", a->lost, error_words(err));
}

void asking_print_words(struct asking *a, const struct lane_event *event)
{
	if (!event->answer.result && event->answer.words[0])
		log_few(&a->words, "%s", event->answer.words);
}

void asking_fini(struct asking *a)
{
	log_few_end(&a->words, "files that are not read as a whole");
}

bool asking_is_passing(int err)
{
	return err == -EAGAIN || err == -ESTALE || err == -ENOTCONN || err == -ECANCELED ||
	       err == -ETIME || err == -EINTR || err == -EMFILE || err == -ENFILE ||
	       err == -EDQUOT || err == -EPIPE || err == -ECONNREFUSED || err == -ECONNRESET;
}

bool asking_took_too_long(const struct lane_event *event)
{
	return event->what == LANE_FAILED &&
	       (event->why == LANE_SLOW || event->why == LANE_SILENT || event->why == LANE_STUCK);
}

char *asking_copy(const struct lane_event *event)
{
	cleanup_free char *copy = xmalloc(event->answer.n_bytes);

	if (area_read(event->area, 0, copy, event->answer.n_bytes) < 0)
		return NULL;
	return TAKE(copy);
}
