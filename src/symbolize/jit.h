/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/jit.h - names of JIT code, from the perf maps of processes.
 *
 * An opener first reads a map when a process that was hit has code without a file. It reads on as
 * the map grows, for the last time when the process ends. The names stay known after that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "processes/processes.h"

struct jit;

/* Both are borrowed. */
struct jit *jit_new(struct images *images, struct strtab *strings);
void jit_free(struct jit *j);

/* Begin to follow the map of @p. */
void jit_watch(struct jit *j, const struct program_run *p);

struct jit_function {
	const char *name;   /* as in the map. Lent until the next call */
	const char *module; /* "perf-7.map". The strtab lends it */
	uint64_t start;
};

/* The function of @p at @addr at @time (0: not known). False: the map has no certain name. */
bool jit_at(struct jit *j, const struct program_run *p, uint64_t addr, uint64_t time,
	    struct jit_function *ret);

/* perf_map_epoch() of the map of @p. Reads the map on if the last look was before @time. */
uint32_t jit_epoch(struct jit *j, const struct program_run *p, uint64_t time);

/* How often that map has grown. If it is the same, nameless code is still nameless. */
uint32_t jit_growth(struct jit *j, const struct program_run *p, uint64_t time);

/* The program of process @tgid ended at @time. */
void jit_ended(struct jit *j, uint32_t tgid, uint64_t time);

/* Look at the maps of live processes whose last look was JIT_LOOK_NS ago. */
#define JIT_LOOK_NS 10000000
void jit_look_again(struct jit *j);

/* A process in which one function has replaced another since the last call; 0: none (any more). */
uint32_t jit_take_changed(struct jit *j);

/* A report begins. Questions without a time look at each map once more. */
void jit_refresh(struct jit *j);
