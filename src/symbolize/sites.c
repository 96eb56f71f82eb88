// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* This many nodes take 4 MiB. The first nodes of a tree are those that most stacks share. */
#define MOST_SITES 524288

#define WANTED UINT32_MAX /* in place of a chain's number */

struct site {
	uint32_t run; /* 0: there is no entry */
	uint32_t chain;
};

void sites_begin(struct sites *s, size_t n_nodes)
{
	sites_end(s);
	s->n = n_nodes < MOST_SITES ? n_nodes : MOST_SITES;
	s->list = xcalloc(s->n + 1, sizeof(*s->list));
}

void sites_end(struct sites *s)
{
	free(s->list);
	*s = (struct sites){};
}

uint32_t sites_run(struct sites *s, uint64_t process, uint64_t epoch, uint64_t version)
{
	struct site_run *run = &s->runs[hash_mix(process ^ hash_mix(epoch)) % SITE_RUNS];

	if (!epoch || !s->n)
		return 0;
	if (s->version != version) {
		memset(s->runs, 0, sizeof(s->runs));
		s->version = version;
	}
	if (!run->number || run->process != process || run->epoch != epoch)
		*run = (struct site_run){ process, epoch, ++s->n_runs };
	return run->number;
}

static struct site *site_of(const struct sites *s, uint32_t run, uint32_t node)
{
	return run && node < s->n ? &s->list[node] : NULL;
}

enum site_state sites_get(const struct sites *s, uint32_t run, uint32_t node, uint32_t *ret)
{
	const struct site *site = site_of(s, run, node);

	if (!site || site->run != run)
		return SITE_NEW;
	*ret = site->chain;
	return site->chain == WANTED ? SITE_WANTED : SITE_KNOWN;
}

void sites_put(struct sites *s, uint32_t run, uint32_t node, uint32_t chain)
{
	struct site *site = site_of(s, run, node);

	if (site)
		*site = (struct site){ run, chain };
}

void sites_want(struct sites *s, uint32_t run, uint32_t node)
{
	sites_put(s, run, node, WANTED);
}
