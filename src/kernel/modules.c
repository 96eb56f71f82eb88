// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/read.h"

/* With more modules than this, the oldest ones that have gone are forgotten. */
#define MOST_SEEN 4096

struct module_seen {
	uint64_t name; /* its hash */
	uint64_t start, end;
	uint64_t since;
	bool is_present;
};

void modules_fini(struct modules *m)
{
	free(m->seen);
	*m = (struct modules){};
}

bool module_line_parse(const char *line, struct module_line *ret)
{
	const size_t n = strcspn(line, " ");
	const char *at = line + n;
	uint64_t size, start;

	if (n == 0 || *at++ != ' ' || !take_decimal(&at, &size))
		return false;
	for (int skip = 0; skip < 4; skip++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	if (at[0] == '0' && at[1] == 'x')
		at += 2;
	if (!take_hex(&at, &start) || start == 0 || start + size < start)
		return false;
	*ret = (struct module_line){ .name = line, .n = n, .start = start, .end = start + size };
	return true;
}

uint64_t module_line_hash(uint64_t before, const struct module_line *line)
{
	return hash_mix(hash_mix(before ^ hash_bytes(line->name, line->n)) ^ line->start);
}

static bool modules_overlap(const struct module_seen *a, const struct module_seen *b)
{
	return a->start < b->end && b->start < a->end;
}

/* Was the module there at the last look? */
static bool was_module_seen(struct modules *m, const struct module_seen *module)
{
	for (size_t i = 0; i < m->n; i++) {
		struct module_seen *old = &m->seen[i];

		if (old->name == module->name && old->start == module->start &&
		    old->end == module->end && old->since != UINT64_MAX) {
			old->is_present = true;
			return true;
		}
	}
	return false;
}

/*
 * If another module had its place before, the module may have come at any time since the last look.
 */
static uint64_t first_seen(const struct modules *m, const struct module_seen *module, uint64_t now)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->seen[i].is_present && modules_overlap(&m->seen[i], module))
			return now;
	return 0;
}

static void forget_old_modules(struct modules *m)
{
	size_t n_kept = 0;

	if (m->n < MOST_SEEN)
		return;
	for (size_t i = 0; i < m->n; i++)
		if (m->seen[i].is_present || i >= m->n / 2)
			m->seen[n_kept++] = m->seen[i];
	m->n = n_kept;
}

/* If a module that is missing now comes again, it is another one. */
static void close_gone_modules(struct modules *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->seen[i].is_present)
			m->seen[i].since = UINT64_MAX;
}

static void add_new_modules(struct modules *m, struct module_seen *fresh, size_t n, uint64_t now)
{
	for (size_t i = 0; i < n; i++)
		fresh[i].since = first_seen(m, &fresh[i], now);
	for (size_t i = 0; i < n; i++)
		array_push(m->seen, m->n, m->capacity, fresh[i]);
}

void modules_look(struct modules *m, const char *path)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	cleanup_fclose FILE *f = fopen(path, "re");
	cleanup_free char *line = NULL;
	cleanup_free struct module_seen *fresh = NULL;
	size_t n_fresh = 0, cap_fresh = 0, capacity = 0;
	struct module_line parsed;

	forget_old_modules(m);
	m->now = 0;
	for (size_t i = 0; i < m->n; i++)
		m->seen[i].is_present = false;
	while (f && getline(&line, &capacity, f) > 0) {
		if (!module_line_parse(line, &parsed))
			continue;

		const struct module_seen module = { .name = hash_bytes(parsed.name, parsed.n),
						    .start = parsed.start,
						    .end = parsed.end,
						    .is_present = true };

		m->now = module_line_hash(m->now, &parsed);
		if (!was_module_seen(m, &module))
			array_push(fresh, n_fresh, cap_fresh, module);
	}
	add_new_modules(m, fresh, n_fresh, now);
	close_gone_modules(m);
}

uint64_t modules_since(const struct modules *m, const char *name)
{
	const uint64_t hash = hash_bytes(name, strlen(name));

	for (size_t i = m->n; i-- > 0;)
		if (m->seen[i].is_present && m->seen[i].name == hash)
			return m->seen[i].since;
	return 0;
}
