// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Probes in the kernel: one of each tracepoint or function, and links of many functions. */
#include "attach/backend.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* --- tracepoints --- */

/*
 * The program runs even if the event is disabled (perf_event_attach_bpf_prog()). A disabled event
 * writes no record, which would cost time at each hit.
 */
static int attach_tracepoint(struct attachment *a, uint32_t number)
{
	const struct target *target = &a->targets[number];
	const enum object_program program = plan_program(target);
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = target->tracepoint_id,
		.disabled = 1,
	};

	if (target->role == ROLE_SWITCH) /* see on_switch() in bpf/pair.bpf.h */
		return link_raw_tracepoint(a, "sched_switch", program);

	cleanup_close int event = link_open_event(&attr, -1, 0);

	return link_event(a, event, program, number);
}

void tracepoint_attach(struct attachment *a, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++)
		attachment_note(a, chosen->items[i], attach_tracepoint(a, chosen->items[i]));
}

/* --- kprobes --- */

/*
 * One perf event for each kernel function, by perf's own kprobe PMU. Such a probe ends with its
 * descriptor, unlike one that is written to tracefs.
 *
 * An address is better than a name, since it is unique. Linux 6.7 refuses a name that several
 * functions have; older kernels silently take the first of them.
 */

/* /sys/bus/event_source/devices/kprobe/format/retprobe: config:0, on all kernels. */
#define AT_RETURN 1

static int attach_single_kprobe(struct attachment *a, uint32_t number)
{
	const struct target *target = &a->targets[number];
	const enum object_program program = plan_program(target);
	cleanup_free char *name = NULL;
	struct perf_event_attr attr = {
		.type = a->plan->features.kprobe_pmu,
		.size = sizeof(attr),
		.config = program == PROGRAM_KRETURN ? AT_RETURN : 0,
	};

	if (target->addr) {
		attr.kprobe_addr = target->addr;
	} else {
		name = target->module ? xasprintf("%s:%s", target->module, target->symbol)
				      : xstrdup(target->symbol);
		attr.kprobe_func = (uintptr_t)name;
	}

	cleanup_close int event = link_open_event(&attr, -1, 0);

	return link_event(a, event, program, number);
}

void kprobe_attach(struct attachment *a, const struct selection *chosen)
{
	for (size_t i = 0; i < chosen->n; i++)
		attachment_note(a, chosen->items[i], attach_single_kprobe(a, chosen->items[i]));
}

/* --- kprobe.multi --- */

/*
 * One link for thousands of kernel functions, by address if it is known, else by symbol.
 *
 * Several functions may have one name, and some of them may not be traceable. If addresses were
 * found by name, the kernel may refuse the whole list because of them. Halving finds them, but
 * leaves a link for each piece, and each link is a wait at the end (35 links: 9 s instead of 2). So
 * a refused list is divided. Functions that have their name alone are tried once more as a whole.
 * Namesakes are halved.
 */

/* Divide @all into functions that have their name alone, and namesakes. */
static void divide_by_name(const struct batch *all, struct batch *alone, struct batch *namesakes)
{
	struct u64_map n_named = {};

	for (size_t i = 0; i < all->n; i++)
		++*u64_map_put(&n_named, hash_bytes(all->symbols[i], strlen(all->symbols[i])), 0,
			       NULL);
	for (size_t i = 0; i < all->n; i++) {
		const char *symbol = all->symbols[i];
		bool is_alone = *u64_map_get(&n_named, hash_bytes(symbol, strlen(symbol))) == 1;

		batch_add(is_alone ? alone : namesakes, all->targets[i]);
	}
	u64_map_fini(&n_named);
}

static void attach_in_parts(const struct batch *all)
{
	cleanup(batch_fini) struct batch alone = batch_make(all->a, all->program, NULL, all->n);
	cleanup(batch_fini) struct batch namesakes = batch_make(all->a, all->program, NULL, all->n);

	divide_by_name(all, &alone, &namesakes);
	/* By symbol, the kernel picks the traceable function of that name. */
	alone.by_symbol = true;
	if (alone.n && !batch_attach_whole(&alone)) {
		alone.by_symbol = false;
		batch_attach(&alone);
	}
	batch_attach(&namesakes);
}

void kprobe_multi_attach(struct attachment *a, const struct selection *chosen)
{
	const enum object_program program = plan_program(&a->targets[chosen->items[0]]);
	cleanup(batch_fini) struct batch known = batch_make(a, program, NULL, chosen->n);
	cleanup(batch_fini) struct batch unknown = batch_make(a, program, NULL, chosen->n);

	for (size_t i = 0; i < chosen->n; i++)
		batch_add(a->targets[chosen->items[i]].addr ? &known : &unknown, chosen->items[i]);
	if (known.n && !batch_attach_whole(&known))
		attach_in_parts(&known);
	unknown.by_symbol = true;
	batch_attach(&unknown);
}
