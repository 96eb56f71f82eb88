// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel numbers programs, and never gives a number twice. For each program it gives the
 * addresses, lengths and tags of its functions, and the time when its loading began. Their names
 * are in its BTF. /proc/kallsyms has the same names, but no ends, so it would name a program that
 * has gone by its neighbour. It also takes a thousand times as long to read.
 */
#include "kernel/bpf_programs.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/clock.h"
#include "base/memory.h"

/* The verifier allows no more functions. */
#define MOST_FUNCTIONS 1024

struct program_info {
	struct bpf_prog_info is;
	uint64_t starts[MOST_FUNCTIONS];
	uint32_t lengths[MOST_FUNCTIONS];
	uint64_t tags[MOST_FUNCTIONS]; /* big-endian */
	struct bpf_func_info types[MOST_FUNCTIONS];
};

void bpf_programs_init(struct bpf_programs *p)
{
	const uint64_t boot = clock_ns(CLOCK_BOOTTIME), now = clock_ns(CLOCK_MONOTONIC);

	/* If the machine sleeps later on, programs loaded after that seem to be younger. */
	*p = (struct bpf_programs){ .asleep = boot > now ? boot - now : 0 };
}

void bpf_programs_fini(struct bpf_programs *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->functions[i].name);
	free(p->functions);
}

/* False: it cannot be read. Functions have addresses only if this user may see them. */
static bool read_info(int fd, struct program_info *ret)
{
	uint32_t size = sizeof(ret->is);

	ret->is = (struct bpf_prog_info){
		.nr_jited_ksyms = MOST_FUNCTIONS,
		.jited_ksyms = (uintptr_t)ret->starts,
		.nr_jited_func_lens = MOST_FUNCTIONS,
		.jited_func_lens = (uintptr_t)ret->lengths,
		.nr_prog_tags = MOST_FUNCTIONS,
		.prog_tags = (uintptr_t)ret->tags,
		.nr_func_info = MOST_FUNCTIONS,
		.func_info = (uintptr_t)ret->types,
		.func_info_rec_size = sizeof(ret->types[0]),
	};
	return bpf_obj_get_info_by_fd(fd, &ret->is, &size) == 0;
}

/* Same as bpf_get_prog_name() of the kernel. */
static char *function_name(const struct program_info *info, const struct btf *btf, uint32_t i)
{
	const struct btf_type *type = NULL;
	const char *own = i ? "F" : info->is.name;

	if (btf && i < info->is.nr_func_info)
		type = btf__type_by_id(btf, info->types[i].type_id);
	if (type)
		own = btf__name_by_offset(btf, type->name_off);
	return xasprintf("bpf_prog_%016" PRIx64 "%s%s", be64toh(info->tags[i]), own[0] ? "_" : "",
			 own);
}

static bool is_known(const struct bpf_programs *p, uint32_t id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->functions[i].id == id)
			return true;
	return false;
}

static void add_program(struct bpf_programs *p, int fd, bool is_own)
{
	cleanup_free struct program_info *info = xcalloc(1, sizeof(*info));
	struct program_function f = { .is_own = is_own };
	struct btf *btf;

	if (!read_info(fd, info) || is_known(p, info->is.id))
		return;
	btf = info->is.btf_id ? btf__load_from_kernel_by_id(info->is.btf_id) : NULL;
	f.id = info->is.id;
	f.since = p->looked;
	if (info->is.load_time > p->asleep + p->looked)
		f.since = info->is.load_time - p->asleep;
	for (uint32_t i = 0; i < MOST_FUNCTIONS && info->starts[i]; i++) {
		f.start = info->starts[i];
		f.end = f.start + info->lengths[i];
		f.name = function_name(info, btf, i);
		array_push(p->functions, p->n, p->capacity, f);
	}
	btf__free(btf);
}

/* Reading one's own programs needs no permission. */
static void add_own_programs(struct bpf_programs *p)
{
	cleanup_closedir DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64];

	while (dir && (entry = readdir(dir)) != NULL) {
		const ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "bpf-prog"))
			add_program(p, atoi(entry->d_name), true);
	}
}

static bool is_there(const struct program_function *f)
{
	uint32_t id;

	return f->is_own || (bpf_prog_get_next_id(f->id - 1, &id) == 0 && id == f->id);
}

void bpf_programs_look(struct bpf_programs *p)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const size_t n_known = p->n;
	size_t n_kept = 0;

	add_own_programs(p);
	while (bpf_prog_get_next_id(p->newest, &p->newest) == 0) {
		cleanup_close int fd = bpf_prog_get_fd_by_id(p->newest);

		if (fd >= 0)
			add_program(p, fd, false);
	}
	for (size_t k = 0; k < p->n; k++) {
		const struct program_function f = p->functions[k];

		/* In the place of a known one, a new one may have come at any time until now. */
		for (size_t i = n_known; i < p->n && k < n_known; i++)
			if (f.start < p->functions[i].end && p->functions[i].start < f.end)
				p->functions[i].since = clock_ns(CLOCK_MONOTONIC);
		if (is_there(&f))
			p->functions[n_kept++] = f;
		else
			free(f.name);
	}
	p->n = n_kept;
	p->looked = now;
}

static const struct program_function *find_program_function(const struct bpf_programs *p,
							    uint64_t addr)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct program_function *f = &p->functions[i];

		if (addr >= f->start && addr < f->end && is_there(f))
			return f;
	}
	return NULL;
}

const struct program_function *bpf_programs_at(struct bpf_programs *p, uint64_t addr)
{
	const struct program_function *f = find_program_function(p, addr);
	uint32_t id;

	if (f || bpf_prog_get_next_id(p->newest, &id) != 0)
		return f;
	bpf_programs_look(p);
	return find_program_function(p, addr);
}
