// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/asking.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "helper/channel.h"
#include "reader/roles.h"

static void tell_absence(struct asking *a, int err, const struct error *e)
{
	if (err != -ENOTCONN || a->was_absence_told)
		return;
	a->was_absence_told = true;
	log_warn("%s: %s", a->lost, e->text);
}

/* For --debug: old kernels, and containers, have less than all. */
static void tell_layers(struct asking *a, unsigned role, uint32_t layers)
{
	const struct role *of = &reader_roles[role];

	if (!a->were_layers_told[role] && !(layers & LAYER_SECCOMP))
		log_debug("%s has no seccomp filter", of->name);
	if (!a->were_layers_told[role] && of->sandbox == SANDBOX_PARSER &&
	    !(layers & LAYER_LANDLOCK))
		log_debug("%s is not kept from paths by Landlock", of->name);
	a->were_layers_told[role] = true;
}

int asking_ask(struct asking *a, unsigned role, struct ask *what, const void *payload,
	       struct lane_event *ret, struct error *e)
{
	*ret = (struct lane_event){};
	if (!a->client)
		return error_set(e, -ENOTCONN, "there are no helpers");

	int err = client_ask(a->client, role, what, payload, ret, e);

	/* An opener dies of no file: it was ended, and another one can do what it was asked for. */
	if (err == -EIO && role == ROLE_OPENER && ret->why == LANE_DIED && what->what != ASK_CLOSE)
		err = client_ask(a->client, role, what, payload, ret, e);
	tell_absence(a, err, e);
	if (!err)
		tell_layers(a, role, ret->layers);
	return err;
}

int asking_address(struct asking *a, unsigned role, uint32_t *ret_files, int32_t *ret_pid,
		   struct error *e)
{
	if (!a->client)
		return error_set(e, -ENOTCONN, "there are no helpers");

	const int err = client_address(a->client, role, ret_files, ret_pid, e);

	tell_absence(a, err, e);
	return err;
}

void asking_note_shortage(struct asking *a, int err)
{
	if ((err != -EMFILE && err != -ENFILE) || a->was_shortage_told)
		return;
	a->was_shortage_told = true;
	log_warn("%s: open files: %s", a->lost, error_words(err));
}

void asking_tell_words(const struct lane_event *event)
{
	if (!event->answer.result && event->answer.words[0])
		log_warn_once("%s", event->answer.words);
}

bool asking_took_too_long(int err, const struct lane_event *event)
{
	return err == -EIO && (event->why == LANE_SLOW || event->why == LANE_STUCK);
}

char *asking_copy(const struct lane_event *event)
{
	cleanup_free char *copy = xmalloc(event->answer.n_bytes);

	if (area_read(event->area, 0, copy, event->answer.n_bytes) < 0)
		return NULL;
	return TAKE(copy);
}
