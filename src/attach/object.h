/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/object.h - the loaded BPF programs and maps. No file but object.c knows the skeleton. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/abi.h"
#include "bpf/kernel_tables.h"

enum object_program {
	PROGRAM_TRACEPOINT,
	PROGRAM_KPROBE,
	PROGRAM_UPROBE, /* at a function's entry */
	PROGRAM_USDT,   /* in the middle of a function */
	PROGRAM_PERF_EVENT,
	PROGRAM_KRETURN,
	PROGRAM_BEGIN, /* at tracepoints: begin and end pairs */
	PROGRAM_UNTIL,
	PROGRAM_SWITCH,     /* at sched_switch: both */
	PROGRAM_BEGIN_USER, /* at user functions: the same */
	PROGRAM_UNTIL_USER,
	PROGRAM_NEW_TASK,    /* a command is followed, or a child inherits its parent's mappings */
	PROGRAM_EXEC,        /* likewise; and lives are raised */
	PROGRAM_EXIT,        /* likewise; and pairs that a thread has begun have no end */
	PROGRAM_RESERVED,    /* mmap() has found a place for a mapping */
	PROGRAM_MODULE_GONE, /* with config.kernel_tables: see object_watch_modules(); */
	PROGRAM_READ_KERNEL, /* object_read_kernel(); */
	PROGRAM_FIND_SYMBOL, /* object_kernel_symbol() */
	PROGRAM_N,
};

struct value_code;

struct object_options {
	struct trace_config config;
	unsigned programs;   /* 1 << enum object_program, an OR */
	unsigned multi;      /* those of them that links of many places run, not perf events */
	uint32_t n_cpus;     /* possible CPUs */
	uint32_t max_rows;   /* of one generation; config.n_hot_rows of them may get counters */
	uint32_t max_chunks; /* of both generations together */
	uint32_t max_tgids;  /* with config.has_tgids: how many */
	uint32_t max_begun;  /* with config.n_groups: pairs that have begun and not ended */
	/*
	 * BTF IDs, for which the programs have placeholders (bpf/abi.h). They are no __ksym of
	 * libbpf, which would read all of the kernel's BTF once more.
	 */
	uint32_t preempt_count; /* the per-CPU variable that contains it; 0: do not put it */
	uint32_t cast_call;     /* bpf_rdonly_cast(); 0: the programs call nothing there */
	uint32_t cast_type;     /* a structure that begins with a word */
	const struct value_code *value; /* with config.has_sum; lent during object_load() */
};

struct object;
struct deferred_piece;
struct deferred_ring;
struct unwind_file;
struct unwind_file_key;
struct unwind_space;

/*
 * Load the programs of @options and make the maps. On success *@ret is the caller's.
 * Errors: the kernel's or libbpf's code, with libbpf's first message as the reason.
 */
must_check int object_load(const struct object_options *options, struct object **ret,
			   struct error *e);
void object_freep(struct object **object);

int object_program_fd(const struct object *object, enum object_program program);

/* The map of @level, below LEVELS. -1: the second level does not exist (yet). */
#define LEVELS 2
/* Stacks have one more level: pieces that the kernel's allocator refused. */
#define SPARE_LEVEL LEVELS
#define STACK_LEVELS (LEVELS + 1)
int object_counts_fd(const struct object *object, unsigned generation, unsigned level);
int object_stacks_fd(const struct object *object, unsigned level);

/*
 * Begin to add the second level to the maps, in a thread that waits for RCU, some 10 ms.
 * Without it the maps have less room, so only --debug reports a failure. Call it once.
 */
void object_begin_level(struct object *object);

/* Maps that user space reads. NULL: the run has none of the kind. */
struct object_maps {
	/* MODE_STACKS: HOT_WORDS() words for each hot_index(). */
	uint64_t *hot;
	/* MODE_EVENTS: one for each possible CPU, and all their places. */
	struct event_ring *rings;
	const struct stream_event *events; /* struct valued_event with config.has_sum */
	/* With config.calls_per_cpu: the hits of each target, by call_index(). */
	uint64_t *calls;
	/* With user stacks: LIVES entries. */
	struct life_count *lives;
	/* With config.unwind: all pieces of deferred hits, and the state of their ring. */
	struct deferred_piece *deferred;
	struct deferred_ring *deferred_ring;
	int lost_fd;  /* by enum lost_reason */
	int begun_fd; /* by struct begun_key */
	int wake_fd;  /* the ring buffer of notices */
};

/* Lent by @object. */
const struct object_maps *object_maps(const struct object *object);

/*
 * The memory for unwinding, by place (bpf/tables.h): the slabs, one behind the other. The first one
 * exists if config.unwind is set; else NULL. Lent by @object.
 */
uint8_t *object_slabs(const struct object *object);

/* Waits for RCU, some ms. Errors: -E2BIG for more than MOST_SLABS; else the kernel's. */
must_check int object_add_slab(struct object *object, struct error *e);

/*
 * Copy up to @most published spaces into @to, and their processes into @tgids, which may be NULL.
 * Returns their number. Every space that is not removed meanwhile is among them.
 */
size_t object_spaces(const struct object *object, uint32_t *tgids, struct unwind_space *to,
		     size_t most);

/* Publish the mappings of process @tgid. NULL: withdraw them. */
must_check int object_set_space(const struct object *object, uint32_t tgid,
				const struct unwind_space *space, struct error *e);

/* Replace the published space @number of @tgid. False: the programs have withdrawn it. */
bool object_replace_space(const struct object *object, uint32_t tgid, uint32_t number,
			  const struct unwind_space *space);

/* Publish how to walk the code of a file, for all processes that map it. NULL: withdraw it. */
must_check int object_set_file(const struct object *object, const struct unwind_file_key *key,
			       const struct unwind_file *file, struct error *e);

/*
 * Count these processes, too (config.has_tgids), or these threads, by their numbers in the initial
 * PID namespace (config.follow). Errors: the kernel's, from writing the map.
 */
must_check int object_add_wanted(const struct object *object, const uint32_t *numbers, size_t n,
				 struct error *e);

/* The memory that both sides write. Lent by @object. */
struct trace_state *object_state(const struct object *object);

/* How the programs walk kernel stacks. Lent by @object. */
struct kernel_walks *object_kernel_walks(const struct object *object);

/*
 * Read @bytes of the kernel's memory at @addr, at most KERNEL_PIECE_BYTES. Returns where they are,
 * until the next call; NULL: they cannot be read. Lent by @object. One thread may call it.
 */
const void *object_read_kernel(const struct object *object, uint64_t addr, size_t bytes);

/*
 * The address of the kernel's symbol @name; 0: there is none, or this user may not know it. Before
 * Linux 6.2, each call takes milliseconds. The thread of object_read_kernel() may call it.
 */
uint64_t object_kernel_symbol(const struct object *object, const char *name);

/*
 * Give the programs image @number, a copy of @bytes at @image. They use it when
 * object_kernel_walks() says so. Waits for RCU, some ms. Errors: the kernel's.
 */
must_check int object_add_kernel_image(const struct object *object, enum kernel_image_number number,
				       const void *image, size_t bytes, struct error *e);

/*
 * Have a program count in kernel_walks.generation when modules go. Returns a descriptor, the
 * caller's, which ends that when it is closed. Below 0: the kernel has no modules, or refuses it.
 */
int object_watch_modules(const struct object *object);

/* The counts of all slots and CPUs together. False: they cannot be read. */
bool object_slot_counts(const struct object *object, uint32_t n_cpus, struct slot_counts *ret);

/*
 * Hits that the kernel skipped because a BPF program was running on the CPU. 0: none, or the kernel
 * does not count them.
 */
uint64_t object_recursion_misses(const struct object *object);

/* Log the size of each program, and the verifier's steps, for --debug. */
void object_describe(const struct object *object);

/*
 * Wait until no program runs that was running at the call. Programs that run later see all that was
 * written to object_state() before.
 */
must_check int object_wait_for_programs(const struct object *object, struct error *e);
