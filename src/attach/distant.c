// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A link lives as long as one of its descriptors, whoever made it. A process that hangs keeps its
 * descriptors, maybe for longer than the run. So it first closes all others. It keeps the
 * programs, and makes the links of one file only.
 */
#include "attach/distant.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/aside.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/log.h"

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
