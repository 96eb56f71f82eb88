// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One link for each file, program and process, for thousands of places.
 *
 * The kernel refuses the whole link for one instruction that it cannot probe. libc has one, and
 * halving takes eight times as long as the link. So we read the instructions first, and link
 * suspicious ones separately.
 */
#include "attach/backend.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "attach/batch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"

/* The places of one file and program. Suspicious ones come last. */
struct group {
	const char *path;
	enum object_program program;
	uint32_t *targets;
	uint64_t *offsets;
	uint64_t *semaphores;
	size_t n;
	size_t n_sound;
	bool has_semaphores;
};

static int compare_targets(const void *a, const void *b, void *data)
{
	const struct target *targets = data;
	uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
	const struct target *ta = &targets[ia], *tb = &targets[ib];
	/* Equal paths are mostly one string. */
	int order = ta->path == tb->path ? 0 : strcmp(ta->path, tb->path);

	if (order)
		return order;
	if (ta->kind != tb->kind)
		return ta->kind < tb->kind ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

static bool is_same_group(const struct target *a, const struct target *b)
{
	return a->kind == b->kind && (a->path == b->path || strcmp(a->path, b->path) == 0);
}

static int link_places_of_file(const struct batch *b, size_t first, size_t n)
{
	const struct link_places range = batch_range(b, first, n);
	const int prog_fd = object_program_fd(b->at->object, b->program);

	return attaching_add_link(b->at, link_uprobe_multi(prog_fd, b->path, &range, b->pid));
}

/*
 * Open a file to read instructions, without waiting: by now it may be a FIFO, which would wait for
 * its writer, or have a lease. -1: it cannot be opened, or is no regular file.
 */
static int open_instructions(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? TAKE_FD(fd) : -1;
}

/* False, too, if the instruction cannot be read: the kernel decides. */
static bool may_be_refused(int fd, uint64_t offset)
{
	uint8_t bytes[ARCH_INSTRUCTION_BYTES];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);

	return n >= 0 && arch_may_refuse_uprobe(bytes, (size_t)n);
}

/* Spread the sorted targets over the group's arrays, with suspicious ones at the end. */
static void fill_group(struct group *g, const struct target *targets, const uint32_t *items)
{
	cleanup_close int fd = open_instructions(g->path);
	size_t end = g->n;

	for (size_t i = 0; i < g->n; i++) {
		const struct target *target = &targets[items[i]];
		size_t at = may_be_refused(fd, target->offset) ? --end : g->n_sound++;

		g->targets[at] = items[i];
		g->offsets[at] = target->offset;
		g->semaphores[at] = target->semaphore;
		g->has_semaphores |= target->semaphore != 0;
	}
}

static void attach_group(struct attaching *at, const struct group *g)
{
	cleanup_free uint64_t *cookies = attaching_cookies(at, g->targets, g->n);
	const uint32_t *pids;
	size_t n_pids = attaching_pids(at, 1, &pids);

	for (size_t p = 0; p < (n_pids ? n_pids : 1); p++) {
		struct batch b = {
			.at = at,
			.targets = g->targets,
			.places = g->offsets,
			.semaphores = g->has_semaphores ? g->semaphores : NULL,
			.cookies = cookies,
			.path = g->path,
			.pid = n_pids ? pids[p] : 0,
			.program = g->program,
			.link = link_places_of_file,
		};

		batch_attach(&b, g->n_sound);
		b.targets += g->n_sound;
		b.places += g->n_sound;
		if (b.semaphores)
			b.semaphores += g->n_sound;
		if (b.cookies)
			b.cookies += g->n_sound;
		batch_attach(&b, g->n - g->n_sound);
	}
}

void uprobe_multi_attach(struct attaching *at, const struct selection *chosen)
{
	cleanup_free uint32_t *items = xcalloc(chosen->n, sizeof(*items));
	cleanup_free uint32_t *targets = xcalloc(chosen->n, sizeof(*targets));
	cleanup_free uint64_t *offsets = xcalloc(chosen->n, sizeof(*offsets));
	cleanup_free uint64_t *semaphores = xcalloc(chosen->n, sizeof(*semaphores));

	memcpy(items, chosen->items, chosen->n * sizeof(*items));
	qsort_r(items, chosen->n, sizeof(*items), compare_targets, (void *)at->targets);

	for (size_t i = 0, n; i < chosen->n; i += n) {
		const struct target *first = &at->targets[items[i]];

		for (n = 1; i + n < chosen->n; n++) {
			if (!is_same_group(first, &at->targets[items[i + n]]))
				break;
		}

		struct group g = {
			.path = first->path,
			.program = plan_program(BACKEND_UPROBE_MULTI, first),
			.targets = targets,
			.offsets = offsets,
			.semaphores = semaphores,
			.n = n,
		};
		fill_group(&g, at->targets, items + i);
		attach_group(at, &g);
	}
}
