/* bpf/object_internal.h - what object.c and object_tables.c share: they alone know the skeleton. */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/object.h"
#include "bpf/tables.h"
#include "stackcount.skel.h"

struct mapped {
	void *at; /* NULL: is not */
	size_t bytes;
};

struct object {
	struct stackcount_bpf *skeleton;
	uint32_t more_rows; /* of one generation, in the second level; 0: there is none */
	uint32_t more_chunks;
	int more_counts_fds[2]; /* the second level; -1 until it is there */
	int more_stacks_fd;
	struct mapped hot, rings, events, calls, lives;
	struct mapped slabs[MOST_SLABS];
	uint32_t n_slabs;
	struct bpf_program *programs[PROGRAM_N]; /* NULL: not loaded */
	int outer_fd; /* map-in-map that is updated to wait for programs; -1 until needed */
};
