/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/parallel_load.h - load the largest programs in threads, while libbpf loads the others: the
 * verifier takes most of the start. libbpf calls us before it loads a program. We take it with its
 * options, and libbpf loads two instructions in its place.
 */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_LICENSE "Dual BSD/GPL"

struct parallel_program;

/* A zeroed one is empty. */
struct parallel_load {
	struct parallel_program **list;
	size_t n, capacity;
};

/* May this process use more than one CPU? */
bool parallel_load_may_help(void);

/*
 * libbpf is about to load @program, which is lent, with @opts: begin it in a thread. Returns
 * libbpf's result. If no thread can be had, nothing is done, and libbpf loads it.
 */
int parallel_load_begin(struct parallel_load *l, struct bpf_program *program,
			struct bpf_prog_load_opts *opts);

/* When libbpf has loaded the others, or has failed. Returns the kernel's error of any, or 0. */
int parallel_load_wait(struct parallel_load *l);

void parallel_load_fini(struct parallel_load *l);

/* Of @program, whoever loaded it. */
int parallel_load_fd(const struct parallel_load *l, const struct bpf_program *program);

/* As they were given to the kernel, *@ret_n of them. Lent. */
const struct bpf_insn *parallel_load_insns(const struct parallel_load *l,
					   const struct bpf_program *program, size_t *ret_n);
