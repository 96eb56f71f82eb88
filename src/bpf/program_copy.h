/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/program_copy.h - a program of libbpf's as it was just before libbpf would load it, to be
 * loaded by us: in a thread, or later.
 */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stddef.h>

#include "bpf/program_code.h"

#define PROGRAM_LICENSE "Dual BSD/GPL"

/* Its BTF is the object's, which must be open when the copy is loaded. */
struct program_copy {
	const struct bpf_program *program; /* lent */
	struct program_code code;          /* the lists are the copy's own */
	struct bpf_prog_load_opts opts;
};

void program_copy_init(struct program_copy *copy, const struct bpf_program *program,
		       const struct bpf_prog_load_opts *opts);
void program_copy_fini(struct program_copy *copy);

/* Load it as @name. Returns a descriptor, the caller's, or the kernel's negative errno. */
int program_copy_load(const struct program_copy *copy, const char *name);
