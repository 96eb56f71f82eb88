/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/program_info.h - the kernel's information about one BPF program, by bpf(2). */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

/* The verifier allows no more functions. */
#define MOST_FUNCTIONS 1024

struct program_info {
	struct bpf_prog_info info;
	uint64_t starts[MOST_FUNCTIONS];
	uint32_t lengths[MOST_FUNCTIONS];
	uint8_t tags[MOST_FUNCTIONS][BPF_TAG_SIZE];
	struct bpf_func_info functions[MOST_FUNCTIONS];
};

/* Put the ID of the program that follows *@id into *@id. Returns 0 or a negative errno. */
int program_next(uint32_t *id);

/* Returns a descriptor or a negative errno. */
int program_open(uint32_t id);

/*
 * Read the program's information. False: it cannot be read. Functions have addresses only if this
 * user may see them.
 */
bool program_read(int fd, struct program_info *ret);

static inline uint32_t program_n_functions(const struct program_info *p)
{
	return p->info.nr_jited_ksyms < p->info.nr_jited_func_lens ? p->info.nr_jited_ksyms
								   : p->info.nr_jited_func_lens;
}

/* The names of a program's functions in its source. Zeroed, it has no names. */
struct program_names {
	uint8_t *btf;
	const char *strings; /* in @btf */
	uint32_t n_strings;  /* bytes */
	uint32_t *types;     /* for each type, the place of its name in @strings */
	uint32_t n_types;
};

void program_names_init(struct program_names *n, const struct program_info *program);
void program_names_fini(struct program_names *n);

/*
 * The kernel's name for function @i of @program, "bpf_prog_6deef7357e7b4530_on_hit". The caller
 * frees it.
 */
char *program_name(const struct program_info *program, uint32_t i, const struct program_names *n);
