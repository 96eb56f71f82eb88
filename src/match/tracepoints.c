// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
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

struct tracepoint_offers {
	const struct pattern *event; /* NULL: offer every tracepoint */
	struct near near;
};

static int offer_tracepoint(void *context, const char *category, const char *event)
{
	struct tracepoint_offers *offers = context;
	char name[512];

	(void)snprintf(name, sizeof(name), "t:%s:%s", category, event);
	if (!offers->event || pattern_matches(offers->event, event))
		near_offer(&offers->near, name);
	return 0;
}

void match_near_tracepoints(const struct probe_spec *spec, struct host *host, char hint[NEAR_HINT])
{
	const bool is_event = spec->kind == PROBE_KERNEL_FUNCTION;
	struct tracepoint_offers offers = { .event = is_event ? spec->name : NULL };
	cleanup_free char *wanted =
		xasprintf("%s%s", is_event || spec->kind == PROBE_TRACEPOINT ? "" : "t:",
			  is_event ? pattern_text(spec->name) : spec->text);
	struct error none;

	near_init(&offers.near, wanted);
	(void)!host_each_tracepoint(host, offer_tracepoint, &offers, &none);
	near_text(&offers.near, hint, NEAR_HINT);
}

static int explain_no_tracepoint(struct matching *m, struct error *e)
{
	char hint[NEAR_HINT];

	match_near_tracepoints(m->spec, m->host, hint);
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
