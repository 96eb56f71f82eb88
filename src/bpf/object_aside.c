// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bpf/object_aside.c - load the largest programs in threads, while libbpf loads the others: the
 * verifier takes most of the start. libbpf calls us before it loads a program. We take it with its
 * options, and libbpf loads two instructions in its place.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "bpf/instructions.h"
#include "bpf/object_internal.h"

struct aside {
	struct bpf_program *program;
	struct bpf_insn *insns;
	size_t n;
	struct bpf_prog_load_opts opts;
	void *func_info;
	pthread_t thread;
	bool is_running;
	int fd; /* or a negative error */
};

/* More than one CPU may be used, and there is more to load than such programs. */
bool object_may_load_aside(const struct object *o)
{
	bool has_large = false, has_small = false;
	cpu_set_t cpus;

	for (int i = 0; i < PROGRAM_N; i++)
		if (o->programs[i])
			*(i <= LAST_COUNTING_PROGRAM ? &has_large : &has_small) = true;
	return has_large && has_small &&
	       (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) > 1);
}

static void *copy(const void *from, size_t bytes)
{
	return from ? memcpy(xmalloc(bytes), from, bytes) : NULL;
}

/*
 * libbpf's options may be those of a newer one, with more behind what is known here. Lines of
 * source are not there (scripts/without_lines).
 */
static void copy_options(struct aside *a, const struct bpf_prog_load_opts *opts)
{
	memcpy(&a->opts, opts, opts->sz < sizeof(a->opts) ? opts->sz : sizeof(a->opts));
	a->opts.sz = sizeof(a->opts);
	a->func_info =
		copy(opts->func_info, (size_t)opts->func_info_cnt * opts->func_info_rec_size);
	a->opts.func_info = a->func_info;
}

static void *load(void *argument)
{
	struct aside *a = argument;

	a->fd = bpf_prog_load(bpf_program__type(a->program), bpf_program__name(a->program),
			      PROGRAM_LICENSE, a->insns, a->n, &a->opts);
	if (a->fd < 0)
		a->fd = -errno;
	return NULL;
}

static struct aside **place_of(struct object *o, const struct bpf_program *program)
{
	for (int i = 0; i < PROGRAM_N; i++)
		if (o->programs[i] == program)
			return &o->aside[i];
	return NULL;
}

static void aside_free(struct aside *a)
{
	if (!a)
		return;
	if (a->is_running)
		(void)pthread_join(a->thread, NULL);
	cleanup_close_fd(&a->fd);
	free(a->insns);
	free(a->func_info);
	free(a);
}

int object_load_aside(struct object *o, struct bpf_program *program,
		      struct bpf_prog_load_opts *opts)
{
	struct bpf_insn nothing[] = { MOVE_IMM(BPF_REG_0, 0), EXIT };
	struct aside **place = place_of(o, program);
	struct aside *a;

	if (!place)
		return 0;
	a = *place = xcalloc(1, sizeof(*a));
	a->program = program;
	a->n = bpf_program__insn_cnt(program);
	a->insns = copy(bpf_program__insns(program), a->n * sizeof(*a->insns));
	a->fd = -1;
	copy_options(a, opts);
	a->is_running = thread_start(&a->thread, load, a) == 0;
	if (!a->is_running) {
		aside_free(a);
		*place = NULL;
		return 0;
	}
	opts->func_info = NULL;
	opts->func_info_cnt = 0;
	return bpf_program__set_insns(program, nothing, ARRAY_SIZE(nothing));
}

int object_wait_for_aside(struct object *o)
{
	int err = 0;

	for (int i = 0; i < PROGRAM_N; i++) {
		struct aside *a = o->aside[i];

		if (!a)
			continue;
		if (a->is_running)
			(void)pthread_join(a->thread, NULL);
		a->is_running = false;
		bpf_program__unload(a->program);
		if (a->fd < 0)
			err = a->fd;
	}
	return err;
}

void object_free_aside(struct object *o)
{
	for (int i = 0; i < PROGRAM_N; i++)
		aside_free(o->aside[i]);
}

int object_program_fd(const struct object *o, enum object_program program)
{
	if (o->aside[program])
		return o->aside[program]->fd;
	return o->programs[program] ? bpf_program__fd(o->programs[program]) : -1;
}

int *object_descriptors(const struct object *o, unsigned programs, size_t *ret_n)
{
	int *all = xcalloc(1, sizeof(*all));
	size_t n = 0, capacity = 1, n_insns;

	for (int p = 0; p < PROGRAM_N; p++) {
		if (!(programs & 1U << p) || !o->programs[p])
			continue;

		const struct bpf_insn *insns =
			object_program_insns(o, (enum object_program)p, &n_insns);

		array_push(all, n, capacity, object_program_fd(o, (enum object_program)p));
		for (size_t i = 0; i < n_insns; i++)
			if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
			    (insns[i].src_reg == BPF_PSEUDO_MAP_FD ||
			     insns[i].src_reg == BPF_PSEUDO_MAP_VALUE))
				array_push(all, n, capacity, insns[i].imm);
	}
	*ret_n = n;
	return all;
}

const struct bpf_insn *object_program_insns(const struct object *o, enum object_program program,
					    size_t *n)
{
	const struct aside *a = o->aside[program];

	*n = a ? a->n : bpf_program__insn_cnt(o->programs[program]);
	return a ? a->insns : bpf_program__insns(o->programs[program]);
}
