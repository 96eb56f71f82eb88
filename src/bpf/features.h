/*
 * bpf/features.h - what this kernel can do, found out by trying, not by its version.
 *
 * Probes run only when asked for: each costs a system call or two, and a plain
 * tracepoint needs none of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Newer than the headers that the distribution has: include/uapi/linux/bpf.h of Linux 6.6. */
#define ABI_TRACE_UPROBE_MULTI 48

struct features {
	uint32_t kprobe_pmu;    /* type of perf's kprobes, 0: the kernel has none */
	uint32_t uprobe_pmu;    /* likewise */
	const char *no_events;  /* why this user may open no perf events; NULL: may */
	const char *no_uprobes; /* likewise perf's uprobes */
	const char *no_kprobes; /* and kprobes */
	bool refuses_namesakes; /* a kprobe by a name that several functions have, Linux 6.7 */
	bool kprobe_multi;      /* Linux 5.18 with CONFIG_FPROBE */
	bool uprobe_multi;      /* Linux 6.6, with the PID filter by process (46ba0e49b642) */
	bool uprobe_event;      /* tracefs takes definitions of uprobe events from this user */
	bool perf_link;         /* BPF links on perf events, Linux 5.15; below, an ioctl */
	bool task_regs;         /* bpf_task_pt_regs(), Linux 5.15 with BTF */
	bool loop;              /* bpf_loop(), Linux 5.17: the newer programs are used */
	bool on_demand_maps; /* hash maps without pre-allocation are safe in tracing, Linux 6.1 */
};

enum feature_group {
	FEATURES_ALWAYS = 1, /* loop, on_demand_maps, task_regs, perf_link */
	FEATURES_KERNEL_FUNCTION = 2,
	FEATURES_USER = 4,
	FEATURES_ALL = 7,
};

/*
 * May this user, who has the capabilities, call bpf(2) at all? Errors: -EPERM or what else refuses
 * it, with the likely cause.
 */
must_check int features_check_bpf(struct error *e);

/*
 * Probe the given groups (an OR); the PMUs, uprobe_event, no_* and refuses_* are the caller's
 * to fill.
 */
void features_probe(struct features *features, unsigned groups);

/*
 * May programs read 4 bytes @offset behind the beginning of the kernel's per-CPU variable of this
 * BTF ID? The kernel must know its address, too: CONFIG_KALLSYMS_ALL.
 */
bool features_has_variable(uint32_t btf_id, uint32_t offset);
