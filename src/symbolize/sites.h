/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/sites.h - a cache: the chain of frames of a node in a tree of stacks.
 *
 * Stacks of a report share most of their outer frames. All stacks have one address at a node, so
 * an array finds the node's chain, and nobody has to look for process and address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site;

/* Processes, each at an epoch (struct user_pc), that the cache tells apart at a time. */
#define SITE_RUNS 256

struct site_run {
	uint64_t process, epoch;
	uint32_t number; /* 0: none */
};

/* A zeroed struct has no room for entries. */
struct sites {
	struct site *list; /* by node */
	size_t n;
	struct site_run runs[SITE_RUNS]; /* by a hash; a new one replaces that of its hash */
	uint32_t n_runs;                 /* up to now */
	uint64_t version;                /* images_version() of all runs */
};

/* Begin without entries, with room for nodes below @n_nodes. */
void sites_begin(struct sites *s, size_t n_nodes);
void sites_end(struct sites *s);

/*
 * A number for @process at @epoch and @version. 0: the cache does not know it, and keeps nothing.
 */
uint32_t sites_run(struct sites *s, uint64_t process, uint64_t epoch, uint64_t version);

enum site_state {
	SITE_NEW,
	SITE_WANTED, /* sites_want() was called */
	SITE_KNOWN,  /* sites_put() was called */
};

/* The state of @node in @run. SITE_KNOWN: its chain is in @ret. */
enum site_state sites_get(const struct sites *s, uint32_t run, uint32_t node, uint32_t *ret);
void sites_put(struct sites *s, uint32_t run, uint32_t node, uint32_t chain);
void sites_want(struct sites *s, uint32_t run, uint32_t node);
