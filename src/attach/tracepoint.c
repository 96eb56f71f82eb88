// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/backend.h"

#include <bpf/bpf.h>
#include <errno.h>

/*
 * The program runs even if the event is disabled (perf_event_attach_bpf_prog()). A disabled event
 * writes no record, which would cost time at each hit.
 */
int tracepoint_attach_id(struct attaching *at, uint64_t id, enum object_program program,
			 uint32_t target)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.disabled = 1,
	};

	return attaching_add_event(at, &attr, -1, program, target);
}

/* See on_switch() in bpf/pair.bpf.h. */
static int attach_switch(struct attaching *at)
{
	const int fd = bpf_raw_tracepoint_open("sched_switch",
					       object_program_fd(at->object, PROGRAM_SWITCH));

	return attaching_add_link(at, fd < 0 ? -errno : fd);
}

static int attach_tracepoint(struct attaching *at, const struct target *target, uint32_t number)
{
	if (target->role == ROLE_SWITCH)
		return attach_switch(at);
	return tracepoint_attach_id(at, target->tracepoint_id,
				    plan_program(BACKEND_TRACEPOINT, target), number);
}

void tracepoint_attach(struct attaching *at, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		const struct target *target = &at->targets[chosen->items[i]];
		int code = attach_tracepoint(at, target, chosen->items[i]);

		attaching_note(at, chosen->items[i], code);
	}
}
