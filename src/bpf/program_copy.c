// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/program_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void *copy_bytes(const void *from, size_t bytes)
{
	return from ? memcpy(xmalloc(bytes), from, bytes) : NULL;
}

/*
 * A newer libbpf may have more options behind those known here. There is no line information to
 * copy (scripts/without_lines). No program of ours needs the list of descriptors (fd_array), which
 * libbpf frees when all programs are loaded.
 */
void program_copy_init(struct program_copy *copy, const struct bpf_program *program,
		       const struct bpf_prog_load_opts *opts)
{
	*copy = (struct program_copy){ .program = program };
	copy->code.n = bpf_program__insn_cnt(program);
	copy->code.insns =
		copy_bytes(bpf_program__insns(program), copy->code.n * sizeof(*copy->code.insns));
	copy->code.n_functions = opts->func_info_cnt;
	copy->code.functions =
		copy_bytes(opts->func_info, (size_t)opts->func_info_cnt * opts->func_info_rec_size);
	memcpy(&copy->opts, opts, opts->sz < sizeof(copy->opts) ? opts->sz : sizeof(copy->opts));
	copy->opts.sz = sizeof(copy->opts);
	copy->opts.fd_array = NULL;
}

void program_copy_fini(struct program_copy *copy)
{
	free(copy->code.insns);
	free(copy->code.functions);
}

int program_copy_load(const struct program_copy *copy, const char *name)
{
	struct bpf_prog_load_opts opts = copy->opts;
	int fd;

	opts.func_info = copy->code.functions;
	opts.func_info_cnt = (__u32)copy->code.n_functions;
	fd = bpf_prog_load(bpf_program__type(copy->program), name, PROGRAM_LICENSE,
			   copy->code.insns, copy->code.n, &opts);
	return fd < 0 ? -errno : fd;
}
