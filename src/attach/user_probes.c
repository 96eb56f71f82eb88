// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Probes in files of user code. */
#include "attach/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/aside.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/log.h"
#include "base/thread.h"

/* --- uprobes --- */

/* One perf event for each user place and process, if the kernel has no uprobe.multi. */

/* /sys/bus/event_source/devices/uprobe/format/ref_ctr_offset: config:32-63, on all kernels. */
#define REF_COUNTER_SHIFT 32

static int attach_single_uprobe(struct attaching *at, uint32_t number, int pid)
{
	const struct target *target = &at->targets[number];

	/* The PMU has 32 bits for it. A truncated offset would count in some other memory. */
	if (target->semaphore > UINT32_MAX)
		return -EFBIG;

	const struct perf_event_attr attr = {
		.type = at->plan->features.uprobe_pmu,
		.size = sizeof(attr),
		.config = target->semaphore << REF_COUNTER_SHIFT,
		.uprobe_path = (uintptr_t)target->path,
		.probe_offset = target->offset,
	};
	return attaching_add_event(at, &attr, pid, plan_program(BACKEND_UPROBE, target), number);
}

void uprobe_attach(struct attaching *at, const struct selection *chosen)
{
	const uint32_t *pids;
	size_t n_pids = attaching_pids(at, &pids);

	for (size_t i = 0; i < chosen->n; i++) {
		for (size_t p = 0; p < (n_pids ? n_pids : 1); p++) {
			int code = attach_single_uprobe(at, chosen->items[i],
							n_pids ? (int)pids[p] : -1);

			attaching_note(at, chosen->items[i], code);
		}
	}
}

/* --- uprobe.multi --- */

/*
 * One link for each file, program and process, for thousands of places.
 *
 * The kernel refuses the whole link for one instruction that it cannot probe. libc has one, and
 * halving takes eight times as long as the link. So we read the instructions first, and link
 * suspicious ones separately.
 */

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
	size_t n_pids = attaching_pids(at, &pids);

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

/* --- files that others may hold up --- */

/*
 * A link lives as long as one of its descriptors, whoever made it. A process that hangs keeps its
 * descriptors, maybe for longer than the run. So it first closes all others. It keeps the
 * programs, and makes the links of one file only.
 */

/* There is no bound of CPU time, as the kernel does the work. */
static const struct aside_bounds bounds = { .looks = 50 };

struct work {
	struct attaching *at;
	attach_by *attach;
	const struct selection *chosen; /* places in one file */
};

/* -- In the other process. -- */

static void close_other_descriptors(const struct attaching *at, int channel)
{
	int kept[4 + PROGRAM_N] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, channel };
	size_t n = 4;

	for (int p = 0; p < PROGRAM_N; p++)
		if (at->plan->programs & 1U << p)
			kept[n++] = object_program_fd(at->object, (enum object_program)p);
	files_close_but(kept, n);
}

/* The result: the number of links, the outcomes of the chosen targets, the links. */
static void attach_in_child(void *argument, int channel)
{
	const struct work *w = argument;
	struct attaching *at = w->at;
	const size_t n_before = at->attachment->n_links;
	bool is_read;

	close_other_descriptors(at, channel);
	w->attach(at, w->chosen);

	const int *links = at->attachment->links + n_before;
	const size_t n = at->attachment->n_links - n_before;

	is_read = aside_write(channel, &n, sizeof(n));
	for (size_t i = 0; i < w->chosen->n && is_read; i++)
		is_read = aside_write(channel, &at->outcomes[w->chosen->items[i]],
				      sizeof(at->outcomes[0]));
	for (size_t i = 0; i < n && is_read; i++)
		is_read = aside_pass(channel, links[i]);
}

/* -- The main process. -- */

static int read_results(struct attaching *at, struct aside *a, const struct selection *chosen)
{
	size_t n;
	int link, err = aside_read(a, &n, sizeof(n));

	for (size_t i = 0; i < chosen->n && !err; i++)
		err = aside_read(a, &at->outcomes[chosen->items[i]], sizeof(at->outcomes[0]));
	for (size_t i = 0; !err && i < n; i++) {
		err = aside_take(a, &link);
		if (!err)
			err = attaching_add_link(at, link);
	}
	return err;
}

static int attach_file(struct attaching *at, attach_by *attach, const struct selection *chosen,
		       struct error *e)
{
	const char *path = at->targets[chosen->items[0]].path;
	struct work w = { at, attach, chosen };
	cleanup(aside_end) struct aside a = ASIDE_NONE;

	log_debug("%s: this file may hang, so another process attaches its probes", path);

	int err = aside_start(&a, &bounds, attach_in_child, &w, e);

	if (err)
		return err;
	err = read_results(at, &a, chosen);
	if (err && aside_explain(&a, err, path, e))
		return error_within(e, "attach");
	return 0;
}

/* Move the targets in the first one's file from @rest to @ret. */
static void split_off_file(const struct target *targets, struct selection *rest,
			   struct selection *ret)
{
	const char *path = targets[rest->items[0]].path;
	size_t n = 0;

	for (size_t i = 0; i < rest->n; i++) {
		const uint32_t item = rest->items[i];

		if (strcmp(targets[item].path, path) == 0)
			array_push(ret->items, ret->n, ret->capacity, item);
		else
			rest->items[n++] = item;
	}
	rest->n = n;
}

int distant_attach(struct attaching *at, attach_by *attach, const struct selection *chosen,
		   struct error *e)
{
	cleanup(selection_fini) struct selection near = {}, distant = {};
	int err = 0;

	for (size_t i = 0; i < chosen->n; i++) {
		const uint32_t item = chosen->items[i];

		if (at->targets[item].is_distant)
			array_push(distant.items, distant.n, distant.capacity, item);
		else
			array_push(near.items, near.n, near.capacity, item);
	}
	if (near.n)
		attach(at, &near);
	while (distant.n && !err) {
		cleanup(selection_fini) struct selection file = {};

		split_off_file(at->targets, &distant, &file);
		err = attach_file(at, attach, &file, e);
	}
	return err;
}

/* --- the first uprobe --- */

/*
 * The kernel registers a uprobe with dup_mmap_sem taken for writing (kernel/events/uprobes.c). That
 * is a per-CPU semaphore. Its first writer in a while waits for an RCU grace period
 * (rcu_sync_enter()). Our file is in memory, and nobody maps it.
 */

/*
 * Removing the uprobe takes the kernel long, and holds event_mutex. All who attach to tracepoints
 * or read their formats wait for that, so the uprobe stays until all probes are in place.
 */
static sem_t is_warm;
static bool is_warming;

static void *place_and_remove_uprobe(void *argument)
{
	cleanup_close int file = memfd_create("stackcount", MFD_CLOEXEC);
	struct perf_event_attr attr = { .type = (uint32_t)(uintptr_t)argument,
					.size = sizeof(attr) };
	char path[32];

	if (file < 0 || ftruncate(file, sysconf(_SC_PAGESIZE)) < 0)
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	attr.config1 = (uintptr_t)path;

	cleanup_close int event = link_open_event(&attr, -1);

	while (sem_wait(&is_warm) != 0)
		;
	return NULL;
}

void warm_uprobes(uint32_t pmu)
{
	pthread_t thread;

	is_warming = sem_init(&is_warm, 0, 0) == 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a number handed over */
	if (thread_start(&thread, place_and_remove_uprobe, (void *)(uintptr_t)pmu) == 0)
		(void)pthread_detach(thread);
}

void warm_end(void)
{
	if (is_warming)
		(void)sem_post(&is_warm);
}
