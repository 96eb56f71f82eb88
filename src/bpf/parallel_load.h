/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/parallel_load.h - load the largest programs in threads, while libbpf loads the others: the
 * verifier takes most of the start. libbpf calls us before it loads a program. We take the program
 * with its options, and libbpf loads two instructions in its place.
 */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>

struct parallel_program;

/* A zeroed one is empty. */
struct parallel_load {
	struct parallel_program **list;
	size_t n, capacity;
};

/* May this process use more than one CPU? */
bool parallel_load_may_help(void);

/*
 * To be called when libbpf is about to load @program, which is lent, with @opts. Begins to load it
 * in a thread. Returns libbpf's result. If no thread can start, it does nothing, and libbpf loads
 * the program.
 */
int parallel_load_begin(struct parallel_load *l, struct bpf_program *program,
			struct bpf_prog_load_opts *opts);

/*
 * Wait for the threads; to be called when libbpf has loaded the others or failed. Returns 0, or the
 * kernel's error for one of the programs.
 */
int parallel_load_wait(struct parallel_load *l);

void parallel_load_fini(struct parallel_load *l);

/* The descriptor of @program, whether a thread or libbpf loaded it. */
int parallel_load_fd(const struct parallel_load *l, const struct bpf_program *program);
