// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One perf event for each kernel function, by perf's own kprobe PMU. Such a probe ends with its
 * descriptor, unlike one that is written to tracefs.
 *
 * An address is better than a name, since it is unique. Linux 6.7 refuses a name that several
 * functions have; older kernels silently take the first of them.
 */
#include "attach/backend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* /sys/bus/event_source/devices/kprobe/format/retprobe: config:0, on all kernels. */
#define AT_RETURN 1

static int attach_single_kprobe(struct attaching *at, uint32_t number)
{
	const struct target *target = &at->targets[number];
	cleanup_free char *name = NULL;
	struct perf_event_attr attr = {
		.type = at->plan->features.kprobe_pmu,
		.size = sizeof(attr),
		.config = target->kind == TARGET_KERNEL_RETURN ? AT_RETURN : 0,
	};

	if (target->addr) {
		attr.kprobe_addr = target->addr;
	} else {
		name = target->module ? xasprintf("%s:%s", target->module, target->symbol)
				      : xstrdup(target->symbol);
		attr.kprobe_func = (uintptr_t)name;
	}
	return attaching_add_event(
		at, &attr, -1,
		target->kind == TARGET_KERNEL_RETURN ? PROGRAM_KRETURN : PROGRAM_KPROBE, number);
}

void kprobe_attach(struct attaching *at, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++) {
		int code = attach_single_kprobe(at, chosen->items[i]);

		attaching_note(at, chosen->items[i], code);
	}
}
