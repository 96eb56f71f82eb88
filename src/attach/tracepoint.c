// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/backend.h"

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

void tracepoint_attach(struct attaching *at, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		const struct target *target = &at->targets[chosen->items[i]];
		int code = tracepoint_attach_id(at, target->tracepoint_id, PROGRAM_TRACEPOINT,
						chosen->items[i]);

		if (code < 0)
			attaching_refused(at, chosen->items[i], code);
		else
			attaching_placed(at, chosen->items[i]);
	}
}
