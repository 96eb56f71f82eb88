/*
 * symbolize/jit.h - names of code that processes make as they run, from their perf maps.
 *
 * A map is read when code without a file is seen in a process that was hit, is read on as it
 * grows, and for the last time when the process ends. What was read stays known after that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "processes/processes.h"

struct jit;

/* Both are kept. */
struct jit *jit_new(struct images *images, struct strtab *strings);
void jit_free(struct jit *j);

/* From now on, its map is read. */
void jit_watch(struct jit *j, const struct program_run *p);

struct jit_function {
	const char *name;   /* as in the map. Lent until the next call */
	const char *module; /* "perf-7.map". Lent by the strtab */
	uint64_t start;
};

/* What @p had at @addr at @time (0: not known); false: its map does not tell. */
bool jit_at(struct jit *j, const struct program_run *p, uint64_t addr, uint64_t time,
	    struct jit_function *ret);

/* perf_map_epoch() of the map of @p, which is read up to @time. */
uint32_t jit_epoch(struct jit *j, const struct program_run *p, uint64_t time);

/* How often that map has grown: what it did not name it may name now. */
uint32_t jit_growth(struct jit *j, const struct program_run *p, uint64_t time);

/* What process @tgid ran ended at @time. */
void jit_ended(struct jit *j, uint32_t tgid, uint64_t time);

/* Look after the maps of those that run, if that was not done for a while. */
void jit_look_again(struct jit *j);

/* A process in which a function has taken the place of another since the last call; 0: none. */
uint32_t jit_take_changed(struct jit *j);

/* So that one is looked at once more where times are not known. */
void jit_refresh(struct jit *j);
