/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/levels.h - the second level of the maps for rows and stacks. It is larger, and made while the
 * first level fills. The programs find it in an outer map.
 */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct level_map {
	const struct bpf_map *like; /* the first level; lent */
	struct bpf_map *outer;
	uint32_t at;      /* index of the second level in @outer */
	uint32_t n;       /* entries of the second level; 0: it is not wanted */
	int inner_fd;     /* while programs are loaded, the model of @outer's inner maps; else -1 */
	int fd;           /* the second level; -1: it does not exist yet */
	pthread_t thread; /* makes the second level; 0: none */
};

enum { LEVEL_STACKS, LEVEL_COUNTS0, LEVEL_COUNTS1, LEVEL_MAPS };

struct levels {
	struct level_map maps[LEVEL_MAPS];
	bool has_begun;
};

/* A level_map for @like. @like and @outer are lent. The caller sets @n before levels_begin(). */
struct level_map level_map_of(const struct bpf_map *like, struct bpf_map *outer, uint32_t at);

/* To be called before and after loading: an outer map needs a model of its inner maps. */
void levels_give_inner(struct levels *l);
void levels_take_inner(struct levels *l);

/* Begin to make the second level, in threads. Does nothing if that was done before. */
void levels_begin(struct levels *l);

/* The same, and wait for the threads. A map that the kernel refuses is left out. */
void levels_wait(struct levels *l);

void levels_fini(struct levels *l);

/* The descriptor of the map of @level, 0 or 1. -1: it does not exist. */
int level_map_fd(const struct level_map *m, unsigned level);

/* Log the second level, for --debug. */
void levels_describe(const struct levels *l);
