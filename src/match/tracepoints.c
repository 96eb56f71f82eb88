// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "match/private.h"

static int add_tracepoint(struct matching *m, const char *category, const char *event,
			  struct error *e)
{
	char name[512];
	struct target t = {
		.kind = TARGET_TRACEPOINT,
		.name = name,
		.category = category,
		.event = event,
	};
	int err = host_tracepoint_id(m->host, category, event, &t.tracepoint_id, e);

	if (err)
		return err;
	(void)snprintf(name, sizeof(name), "%s:%s", category, event);
	return matching_add(m, &t, place_of_tracepoint(category, event), NULL, e);
}

struct tracepoint_walk {
	struct matching *m;
	struct error *e;
	size_t n;
};

static int match_one_tracepoint(void *context, const char *category, const char *event)
{
	struct tracepoint_walk *walk = context;
	const struct probe_spec *spec = walk->m->spec;

	if (!pattern_matches(spec->category, category) || !pattern_matches(spec->name, event))
		return 0;

	int err = add_tracepoint(walk->m, category, event, walk->e);

	if (err == -ENOENT) {
		/* perf cannot use it. */
		log_debug("left out tracepoint %s:%s: it has no id", category, event);
		return 0;
	}
	walk->n++;
	return err;
}

static int offer_tracepoint(void *context, const char *category, const char *event)
{
	char name[512];

	(void)snprintf(name, sizeof(name), "%s:%s", category, event);
	near_offer(context, name);
	return 0;
}

static int explain_no_tracepoint(struct matching *m, struct error *e)
{
	char wanted[512], hint[NEAR_MAX * NEAR_NAME_BYTES + 64];
	struct near near;

	(void)snprintf(wanted, sizeof(wanted), "%s:%s", pattern_text(m->spec->category),
		       pattern_text(m->spec->name));
	near_init(&near, wanted);

	int err = host_each_tracepoint(m->host, offer_tracepoint, &near, e);

	if (err)
		return err;
	near_text(&near, hint, sizeof(hint));
	return error_set(e, -ENOENT, "no tracepoint matches '%s'%s", m->spec->text, hint);
}

int match_tracepoints(struct matching *m, struct error *e)
{
	const char *category = pattern_literal(m->spec->category);
	const char *event = pattern_literal(m->spec->name);

	/* The list is long, but one tracepoint is one file. */
	if (category && event) {
		int err = add_tracepoint(m, category, event, e);

		return err == -ENOENT ? explain_no_tracepoint(m, e) : err;
	}

	struct tracepoint_walk walk = { .m = m, .e = e };
	int err = host_each_tracepoint(m->host, match_one_tracepoint, &walk, e);

	if (err || walk.n)
		return err;
	return explain_no_tracepoint(m, e);
}
