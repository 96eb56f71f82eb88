/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/full_programs.h - the programs with the walk of kernel stacks, which are loaded when counting
 * has begun: the verifier takes most of the start. Until then, programs without that walk count,
 * and the kernel's helper walks. See go_to_full() in stackcount.bpf.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "bpf/program_copy.h"

struct full_program {
	struct program_copy copy;
	const char *name;           /* of the program and of its slot; lent */
	const struct bpf_map *slot; /* the first program looks for this one there; lent */
	int fd;                     /* -1: not loaded */
};

/* A zeroed one is empty. */
struct full_programs {
	struct full_program *list;
	size_t n, capacity;
};

/* Make no slot for a program that is not among the @n of @chosen, of which some may be NULL. */
void full_programs_leave_out(struct bpf_object *object, const struct bpf_program *const *chosen,
			     size_t n);

/*
 * To be called when libbpf is about to load @program of @object with @opts; all are lent. If there
 * are two programs for this one, keeps a copy for the full one and returns true.
 */
bool full_programs_keep(struct full_programs *f, const struct bpf_object *object,
			const struct bpf_program *program, const struct bpf_prog_load_opts *opts);

/*
 * Load a program that was kept, and have the first one go to it from the next hit on. Errors: the
 * kernel's, for the program or for its slot. Then the first one stays.
 */
must_check int full_program_begin(struct full_program *p, struct error *e);

void full_programs_fini(struct full_programs *f);
