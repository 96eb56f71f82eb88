// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Probes in files of user code. */
#include "attach/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/memory.h"

/* --- uprobes --- */

/* One perf event for each user place and process, if the kernel has no uprobe.multi. */

/* /sys/bus/event_source/devices/uprobe/format/ref_ctr_offset: config:32-63, on all kernels. */
#define REF_COUNTER_SHIFT 32

static int attach_single_uprobe(struct attachment *a, uint32_t number, int pid)
{
	const struct target *target = &a->targets[number];

	/* The PMU has 32 bits for it. A truncated offset would count in some other memory. */
	if (target->semaphore > UINT32_MAX)
		return -EFBIG;

	const struct perf_event_attr attr = {
		.type = a->plan->features.uprobe_pmu,
		.size = sizeof(attr),
		.config = target->semaphore << REF_COUNTER_SHIFT,
		.uprobe_path = (uintptr_t)target->path,
		.probe_offset = target->offset,
	};
	cleanup_close int event = link_open_event(&attr, pid, pid < 0 ? 0 : -1);

	return link_event(a, event, plan_program(target), number);
}

void uprobe_attach(struct attachment *a, const struct selection *chosen)
{
	const struct attach_scope *scope = &a->scope;

	for (size_t i = 0; i < chosen->n; i++) {
		const uint32_t number = chosen->items[i];

		if (!scope->n_pids)
			attachment_note(a, number, attach_single_uprobe(a, number, -1));
		for (size_t p = 0; p < scope->n_pids; p++)
			attachment_note(a, number,
					attach_single_uprobe(a, number, (int)scope->pids[p]));
	}
}

/* --- uprobe.multi --- */

/*
 * One link for each file, program and process, for thousands of places. Those whose instruction the
 * kernel would refuse are known (OBSTACLE_REFUSED), or the whole link would be refused for one.
 */

/* 0: they have one file and program. */
static int compare_groups(const struct target *a, const struct target *b)
{
	/* Equal paths are mostly one string. */
	const int order = a->path == b->path ? 0 : strcmp(a->path, b->path);

	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_targets(const void *a, const void *b, void *data)
{
	const struct target *targets = data;
	const uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
	const int order = compare_groups(&targets[ia], &targets[ib]);

	return order ? order : (ia > ib) - (ia < ib);
}

/* Attach @n targets, which have one file and program. */
static void attach_group(struct attachment *a, const uint32_t *items, size_t n)
{
	const struct target *first = &a->targets[items[0]];
	const enum object_program program = plan_program(first);
	cleanup(batch_fini) struct batch batch = batch_make(a, program, first->path, n);

	for (size_t i = 0; i < n; i++)
		batch_add(&batch, items[i]);
	for (size_t p = 0; p == 0 || p < a->scope.n_pids; p++) {
		batch.pid = a->scope.n_pids ? a->scope.pids[p] : 0;
		batch_attach(&batch);
	}
}

void uprobe_multi_attach(struct attachment *a, const struct selection *chosen)
{
	cleanup_free uint32_t *items = xcalloc(chosen->n, sizeof(*items));

	memcpy(items, chosen->items, chosen->n * sizeof(*items));
	qsort_r(items, chosen->n, sizeof(*items), compare_targets, (void *)a->targets);
	for (size_t i = 0, n; i < chosen->n; i += n) {
		n = 1;
		while (i + n < chosen->n &&
		       compare_groups(&a->targets[items[i]], &a->targets[items[i + n]]) == 0)
			n++;
		attach_group(a, &items[i], n);
	}
}

/* --- a process for each file --- */

/*
 * A link lives as long as one of its descriptors, whoever made it. A process that hangs keeps its
 * descriptors, maybe for longer than the run. So it first closes all others. It keeps the
 * programs, and makes the links of one file only.
 */

#define MOST_STILL 50 /* looks at the process */

struct work {
	struct attachment *a;
	backend_attach *attach;
	const struct selection *chosen; /* places in one file */
};

/* -- In the other process. -- */

static void close_other_descriptors(const struct attachment *a, int channel)
{
	int kept[4 + PROGRAM_N] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, channel };
	size_t n = 4;

	for (int p = 0; p < PROGRAM_N; p++)
		if (a->plan->programs & 1U << p)
			kept[n++] = object_program_fd(a->object, (enum object_program)p);
	descriptors_close_but(kept, n);
}

/* The result: the number of links, the outcomes of all targets, the links. */
static void attach_in_child(void *argument, int channel)
{
	const struct work *w = argument;
	struct attachment *a = w->a;
	bool is_read;

	close_other_descriptors(a, channel);
	a->n_links = 0;
	w->attach(a, w->chosen);
	is_read = aside_write(channel, &a->n_links, sizeof(a->n_links)) &&
		  aside_write(channel, a->outcomes, a->plan->n * sizeof(*a->outcomes));
	for (size_t i = 0; i < a->n_links && is_read; i++)
		is_read = aside_pass(channel, a->links[i]);
}

/* -- The main process. -- */

static int read_results(struct attachment *a, struct aside *from)
{
	size_t n;
	int link, err = aside_read(from, &n, sizeof(n));

	if (!err)
		err = aside_read(from, a->outcomes, a->plan->n * sizeof(*a->outcomes));
	for (size_t i = 0; i < n && !err; i++) {
		err = aside_take(from, &link);
		if (!err)
			array_push(a->links, a->n_links, a->links_capacity, link);
	}
	return err;
}

static int attach_file(struct attachment *a, backend_attach *attach, const struct selection *chosen,
		       const char *path, struct error *e)
{
	struct work w = { a, attach, chosen };
	cleanup(aside_end) struct aside aside = ASIDE_NONE;

	log_debug("%s: this file may hang, so another process attaches its probes", path);

	int err = aside_start(&aside, MOST_STILL, attach_in_child, &w, e);

	if (err)
		return err;
	err = read_results(a, &aside);
	if (err && aside_explain(err, path, e))
		return error_within(e, "attach");
	return 0;
}

/* The targets of @chosen, from number @first on, in the file at @path. */
static struct selection in_file(const struct attachment *a, const struct selection *chosen,
				size_t first, const char *path)
{
	struct selection ret = {};

	for (size_t i = first; i < chosen->n; i++)
		if (strcmp(a->targets[chosen->items[i]].path, path) == 0)
			array_push(ret.items, ret.n, ret.capacity, chosen->items[i]);
	return ret;
}

int attach_in_files(struct attachment *a, backend_attach *attach, const struct selection *chosen,
		    struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < chosen->n && !err; i++) {
		cleanup(selection_fini) struct selection file = {};
		const char *path = a->targets[chosen->items[i]].path;

		if (a->outcomes[chosen->items[i]]) /* of the same file as one before */
			continue;
		file = in_file(a, chosen, i, path);
		err = attach_file(a, attach, &file, path, e);
	}
	return err;
}
