// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/parallel_load.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "bpf/instructions.h"
#include "bpf/program_copy.h"

struct parallel_program {
	struct bpf_program *program;
	struct program_copy copy;
	pthread_t thread;
	bool is_running;
	int fd; /* or a negative error */
};

bool parallel_load_may_help(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) > 1;
}

static void *load_in_thread(void *argument)
{
	struct parallel_program *p = argument;

	p->fd = program_copy_load(&p->copy, bpf_program__name(p->program));
	return NULL;
}

static void parallel_program_free(struct parallel_program *p)
{
	if (p->is_running)
		(void)pthread_join(p->thread, NULL);
	cleanup_close_fd(&p->fd);
	program_copy_fini(&p->copy);
	free(p);
}

int parallel_load_begin(struct parallel_load *l, struct bpf_program *program,
			struct bpf_prog_load_opts *opts)
{
	struct bpf_insn nothing[] = { MOVE_IMM(BPF_REG_0, 0), EXIT };
	struct parallel_program *p = xcalloc(1, sizeof(*p));

	p->program = program;
	p->fd = -1;
	program_copy_init(&p->copy, program, opts);
	p->is_running = thread_start(&p->thread, load_in_thread, p) == 0;
	if (!p->is_running) {
		parallel_program_free(p);
		return 0;
	}
	array_push(l->list, l->n, l->capacity, p);
	opts->func_info = NULL;
	opts->func_info_cnt = 0;
	return bpf_program__set_insns(program, nothing, ARRAY_SIZE(nothing));
}

int parallel_load_wait(struct parallel_load *l)
{
	int err = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct parallel_program *p = l->list[i];

		if (p->is_running)
			(void)pthread_join(p->thread, NULL);
		p->is_running = false;
		bpf_program__unload(p->program);
		if (p->fd < 0)
			err = p->fd;
	}
	return err;
}

void parallel_load_fini(struct parallel_load *l)
{
	for (size_t i = 0; i < l->n; i++)
		parallel_program_free(l->list[i]);
	free(l->list);
}

int parallel_load_fd(const struct parallel_load *l, const struct bpf_program *program)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->list[i]->program == program)
			return l->list[i]->fd;
	return bpf_program__fd(program);
}
