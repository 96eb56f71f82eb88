// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One perf event for each user place and process, if the kernel has no uprobe.multi. */
#include "attach/backend.h"

#include <errno.h>

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
	size_t n_pids = attaching_pids(at, chosen->n, &pids);

	for (size_t i = 0; i < chosen->n; i++) {
		for (size_t p = 0; p < (n_pids ? n_pids : 1); p++) {
			int code = attach_single_uprobe(at, chosen->items[i],
							n_pids ? (int)pids[p] : -1);

			attaching_note(at, chosen->items[i], code);
		}
	}
}
