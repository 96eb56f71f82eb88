// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/full_programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* The names of programs, and of the full ones and their slots. */
static const char *const names[][2] = {
	{ "on_tracepoint", "full_tracepoint" }, { "on_kprobe", "full_kprobe" },
	{ "on_kprobe_multi", "full_kmulti" },   { "on_sample", "full_sample" },
	{ "on_begin_tp", "full_begin" },
};

/* The name of the full program for @program. NULL: there is none. */
static const char *full_name(const struct bpf_program *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i][0], bpf_program__name(program)) == 0)
			return names[i][1];
	return NULL;
}

bool full_programs_keep(struct full_programs *f, const struct bpf_object *object,
			const struct bpf_program *program, const struct bpf_prog_load_opts *opts)
{
	struct full_program p = { .name = full_name(program), .fd = -1 };

	if (!p.name)
		return false;
	p.slot = bpf_object__find_map_by_name(object, p.name);
	program_copy_init(&p.copy, program, opts);
	array_push(f->list, f->n, f->capacity, p);
	return true;
}

void full_programs_leave_out(struct bpf_object *object, const struct bpf_program *const *chosen,
			     size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool is_chosen = false;

		for (size_t k = 0; k < n; k++)
			is_chosen |= chosen[k] && full_name(chosen[k]) == names[i][1];
		if (!is_chosen)
			(void)bpf_map__set_autocreate(
				bpf_object__find_map_by_name(object, names[i][1]), false);
	}
}

int full_program_begin(struct full_program *p, struct error *e)
{
	const __u32 zero = 0;
	const int fd = program_copy_load(&p->copy, p->name);

	if (fd < 0)
		return error_set(e, fd, "load %s: %s", p->name, error_words(fd));
	p->fd = fd;
	if (bpf_map_update_elem(bpf_map__fd(p->slot), &zero, &fd, BPF_ANY))
		return error_errno(e, "put %s into its slot", p->name);
	return 0;
}

void full_programs_fini(struct full_programs *f)
{
	for (size_t i = 0; i < f->n; i++) {
		cleanup_close_fd(&f->list[i].fd);
		program_copy_fini(&f->list[i].copy);
	}
	free(f->list);
}
