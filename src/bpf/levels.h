/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/levels.h - the second level of the maps for rows and stacks: larger, and made while the first
 * one fills. The programs find it in an outer map.
 */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct level_map {
	const struct bpf_map *like; /* the first level */
	struct bpf_map *outer;
	uint32_t at;      /* its entry in @outer */
	uint32_t n;       /* entries; 0: there is none */
	int inner_fd;     /* while the programs are loaded, else -1 */
	int fd;           /* -1 until it is there */
	pthread_t thread; /* that makes it; 0: none */
};

enum { LEVEL_STACKS, LEVEL_COUNTS0, LEVEL_COUNTS1, LEVEL_MAPS };

struct levels {
	struct level_map maps[LEVEL_MAPS];
	bool has_begun;
};

/* @like and @outer are lent. @n is set before levels_begin(). */
struct level_map level_map_of(const struct bpf_map *like, struct bpf_map *outer, uint32_t at);

/* Around loading: the outer maps have to know what kind of maps they will have. */
void levels_give_inner(struct levels *l);
void levels_take_inner(struct levels *l);

/* Begin to make them, in threads, unless that was begun. */
void levels_begin(struct levels *l);

/* The same, and wait until they are made. What cannot be made is left out. */
void levels_wait(struct levels *l);

void levels_fini(struct levels *l);

/* Of a level, 0 or 1; -1: it is not there. */
int level_map_fd(const struct level_map *m, unsigned level);

/* For --debug. */
void levels_describe(const struct levels *l);
