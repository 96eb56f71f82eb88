/*
 * bpf/object.h - the BPF programs and maps, loaded. Nobody else knows the skeleton.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/abi.h"
#include "bpf/features.h"

enum object_program {
	PROGRAM_TRACEPOINT,
	PROGRAM_KPROBE,
	PROGRAM_KPROBE_MULTI,
	PROGRAM_UPROBE, /* at a function's entry */
	PROGRAM_UPROBE_MULTI,
	PROGRAM_USDT, /* in the middle of a function */
	PROGRAM_USDT_MULTI,
	PROGRAM_FORK, /* the three that follow a command's processes */
	PROGRAM_EXEC,
	PROGRAM_EXIT,
	PROGRAM_PROGRAM, /* these two tell the lives of processes apart */
	PROGRAM_END,
	PROGRAM_BIRTH,    /* a child has mapped what its parent has */
	PROGRAM_RESERVED, /* what was mapped at a place has gone */
	PROGRAM_FAULT,    /* code is run that was not run before */
	PROGRAM_N,
};

struct object_options {
	struct trace_config config;
	unsigned programs;   /* 1 << enum object_program, an OR */
	uint32_t n_cpus;     /* possible ones */
	uint32_t max_rows;   /* of one generation; config.n_hot_rows of these with own counters */
	uint32_t max_chunks; /* of both */
	uint32_t max_tgids;  /* entries in the map 'tgids' */
	uint32_t preempt_count_id; /* BTF ID of the kernel's variable, if config.hardirq_mask is set
				    */
};

struct object;
struct unwind_file;
struct unwind_file_key;
struct unwind_space;

/* Errors: -EPERM names the capability or lockdown; others carry the verifier's last line. */
must_check int object_load(const struct object_options *options, const struct features *features,
			   struct object **ret, struct error *e);
void object_free(struct object *object);
void object_freep(struct object **object);

int object_program_fd(const struct object *object, enum object_program program);

/*
 * With TARGET_BY_PROGRAM: load @program once more, for @target alone. A descriptor, the caller's,
 * or the kernel's negative errno.
 */
int object_program_for(const struct object *object, enum object_program program, uint32_t target);

/*
 * What a copy of this process needs for the two above, for @programs (1 << enum object_program, an
 * OR): descriptors, lent, in no order, some of them twice. Returns the list, to free(), and
 * *@ret_n.
 */
int *object_descriptors(const struct object *object, unsigned programs, size_t *ret_n);

/* The maps of a @level, below LEVELS; -1 where there is no second one. */
#define LEVELS 2
/* Stacks have one level more: pieces that the kernel's allocator refused. */
#define SPARE_LEVEL LEVELS
#define STACK_LEVELS (LEVELS + 1)
int object_counts_fd(const struct object *object, unsigned generation, unsigned level);
int object_stacks_fd(const struct object *object, unsigned level);

/*
 * Begin to put the second level behind the maps, unless it is there or not needed: that waits for
 * RCU, some milliseconds. Without it the room is smaller; so what fails is told to --debug alone.
 */
void object_begin_level(struct object *object);

/* The same, and wait until it is there. */
void object_add_level(struct object *object);

/* The map 'hot', by hot_index(). Lent by @object. */
uint64_t *object_hot(const struct object *object);

/* The rings of MODE_EVENTS, one for each possible CPU, and all their places. Lent by @object. */
struct event_ring *object_rings(const struct object *object);
const struct stream_event *object_events(const struct object *object);

/* The counters of MODE_CALLS, by call_index(). Lent by @object. */
const uint64_t *object_calls(const struct object *object);

/* The map 'lives', LIVES entries; NULL: they are not told apart. Lent by @object. */
struct life_count *object_lives(const struct object *object);

/*
 * The memory for unwinding (bpf/tables.h), slab by slab; NULL: so many are not there. The first is
 * there if config.unwind is set. Lent by @object.
 */
void *object_slab(const struct object *object, uint32_t number);

/* One slab more. It waits for RCU: some milliseconds. Errors: -E2BIG there are MOST_SLABS. */
must_check int object_add_slab(struct object *object, struct error *e);

/*
 * What processes are said to have mapped: up to @most into @to, how many is returned. Whatever is
 * not dropped meanwhile is among them.
 */
size_t object_spaces(const struct object *object, struct unwind_space *to, size_t most);

/* What process @tgid has mapped from now on; NULL: it is not known. */
must_check int object_set_space(const struct object *object, uint32_t tgid,
				const struct unwind_space *space, struct error *e);

/* The same of one that is there. False: the programs have taken it away. */
bool object_replace_space(const struct object *object, uint32_t tgid,
			  const struct unwind_space *space);

/* What files are walked by, whoever maps them; NULL: not known any more. */
must_check int object_set_file(const struct object *object, const struct unwind_file_key *key,
			       const struct unwind_file *file, struct error *e);

int object_lost_fd(const struct object *object);
int object_wake_fd(const struct object *object);

/* With several -p: the processes to be counted. Errors: from writing the map. */
must_check int object_set_tgids(const struct object *object, const uint32_t *tgids, size_t n,
				struct error *e);

/* The shared page. Lent by @object. */
struct trace_state *object_state(const struct object *object);

/* Hits that the kernel skipped because a BPF program was running on the CPU; 0 where it does not
 * count them. */
uint64_t object_recursion_misses(const struct object *object);

/* For --debug: one line per program and map, to standard error. */
void object_describe(const struct object *object);

/*
 * Return when no program that was running at the call runs any more, so that each
 * sees what was written to object_state() before.
 */
must_check int object_wait_for_programs(const struct object *object, struct error *e);
