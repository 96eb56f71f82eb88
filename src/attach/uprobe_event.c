// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One event for thousands of user places, if the kernel has no uprobe.multi. It is opened and
 * closed as one. Single events are closed one by one, with a global lock held (detach.c). A place
 * that is left out here gets a single event after all (attach.c).
 */
#include "attach/backend.h"

#include <errno.h>

#include "attach/batch.h"
#include "attach/definitions.h"
#include "attach/instruction.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"

/* The places of one program: sound ones, and suspicious ones that the kernel may refuse. */
struct places {
	uint32_t *sound;
	size_t n_sound;
	uint32_t *suspicious;
	size_t n_suspicious;
};

static void divide_by_suspicion(const struct attaching *at, const struct selection *chosen,
				enum target_kind kind, struct places *p)
{
	const char *path = NULL;
	cleanup_close int fd = -1;

	for (size_t i = 0; i < chosen->n; i++) {
		const struct target *target = &at->targets[chosen->items[i]];

		if (target->kind != kind)
			continue;
		/* Equal paths are mostly one string, and come together. */
		if (target->path != path) {
			cleanup_close_fd(&fd);
			path = target->path;
			fd = instruction_open(path);
		}
		if (fd >= 0 && instruction_at_may_be_refused(fd, target->offset))
			p->suspicious[p->n_suspicious++] = chosen->items[i];
		else
			p->sound[p->n_sound++] = chosen->items[i];
	}
}

static int define_event(struct attaching *at, const uint32_t *items, size_t n, uint64_t *ret_id)
{
	struct definitions *d = at->definitions;
	int code = 0;

	for (size_t i = 0; i < n && !code; i++) {
		const struct target *target = &at->targets[items[i]];

		code = definitions_add(d, target->path, target->offset, target->semaphore);
	}
	return code ? code : definitions_id(d, ret_id);
}

static int attach_range(const struct batch *b, size_t first, size_t n)
{
	struct attaching *at = b->at;
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	uint64_t id;
	int code = define_event(at, b->targets + first, n, &id);

	if (!code) {
		attr.config = id;
		code = attaching_add_shared_event(at, &attr, b->program);
	}
	if (code)
		definitions_drop(at->definitions);
	else
		definitions_keep(at->definitions);
	return code;
}

static void attach_kind(struct attaching *at, const struct selection *chosen, enum target_kind kind)
{
	cleanup_free uint32_t *sound = xcalloc(chosen->n, sizeof(*sound));
	cleanup_free uint32_t *suspicious = xcalloc(chosen->n, sizeof(*suspicious));
	struct places p = { .sound = sound, .suspicious = suspicious };
	struct batch b = { .at = at, .link = attach_range };

	divide_by_suspicion(at, chosen, kind, &p);
	if (!p.n_sound && !p.n_suspicious)
		return;
	/* All targets of a kind have one program. */
	b.program = plan_program(BACKEND_UPROBE_EVENT,
				 &at->targets[p.n_sound ? *p.sound : *p.suspicious]);
	b.targets = p.sound;
	batch_attach(&b, p.n_sound);
	b.targets = p.suspicious;
	batch_attach(&b, p.n_suspicious);
}

void uprobe_event_attach(struct attaching *at, const struct selection *chosen)
{
	static const enum target_kind kinds[] = { TARGET_USER_FUNCTION, TARGET_USDT,
						  TARGET_USER_RETURN };

	if (!attaching_defines(at)) {
		for (size_t i = 0; i < chosen->n; i++)
			attaching_refused(at, chosen->items[i], -EACCES);
		return;
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		attach_kind(at, chosen, kinds[k]);
}
