/* bpf/object_internal.h - what object.c and object_tables.c share: they alone know the skeleton. */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/object.h"
#include "bpf/tables.h"
#include "stackcount.skel.h"

#define PROGRAM_LICENSE "Dual BSD/GPL"
/* The programs of targets come first. They are the large ones. */
#define LAST_COUNTING_PROGRAM PROGRAM_USDT_MULTI

struct aside; /* a program that is loaded in a thread */

struct mapped {
	void *at; /* NULL: is not */
	size_t bytes;
};

/* A map of the second level. */
struct level_map {
	const struct bpf_map *like;
	struct bpf_map *outer;
	uint32_t n;       /* entries; 0: there is none */
	__u32 at;         /* its entry in @outer */
	int fd;           /* -1 until it is there */
	pthread_t thread; /* that makes it; 0: none */
};

/* Both of the counts are in one outer map. */
enum { LEVEL_STACKS, LEVEL_COUNTS0, LEVEL_COUNTS1, LEVEL_MAPS, LEVEL_OUTERS = LEVEL_COUNTS1 };

struct object {
	struct stackcount_bpf *skeleton;
	struct level_map level[LEVEL_MAPS];
	bool has_begun_level;
	struct mapped hot, rings, events, calls, lives;
	struct mapped slabs[MOST_SLABS];
	uint32_t n_slabs;
	struct bpf_program *programs[PROGRAM_N]; /* NULL: not loaded */
	struct aside *aside[PROGRAM_N];          /* NULL: libbpf has loaded it */
	int outer_fd; /* map-in-map that is updated to wait for programs; -1 until needed */
};

/* object_level.c: before anything else, the skeleton being there; and at the end. */
void object_init_level(struct object *object);
void object_close_level(struct object *object);
void object_describe_level(const struct object *o); /* for --debug */

/* object_aside.c. Before loading: would it be faster? */
bool object_may_load_aside(const struct object *object);
/* libbpf is about to load @program with @opts: begin it in a thread. Returns libbpf's result. */
struct bpf_prog_load_opts;
int object_load_aside(struct object *object, struct bpf_program *program,
		      struct bpf_prog_load_opts *opts);
/* When libbpf has loaded the others, or has failed. Returns the kernel's error of any, or 0. */
int object_wait_for_aside(struct object *object);
void object_free_aside(struct object *object);
/* As they were given to the kernel, *@ret_n of them. */
const struct bpf_insn *object_program_insns(const struct object *object,
					    enum object_program program, size_t *ret_n);

/* object_tables.c: before loading, for the maps' sizes are set. */
void object_make_slab0(const struct object *object);

/* Load the skeleton, whose maps have their sizes and flags. Returns libbpf's result. */
int object_load_level(struct object *object);
