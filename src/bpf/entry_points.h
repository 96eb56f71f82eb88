/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/entry_points.h - the programs by name. For object.c only. */
#pragma once

#include <linux/bpf.h>

#include "bpf/features.h"
#include "bpf/object.h"

/* The programs of targets come first. They are the large ones. */
#define LAST_COUNTING_PROGRAM PROGRAM_UNTIL_USER_MULTI

/* The names of the programs. */
static const struct {
	const char *name;
	enum bpf_attach_type attach_type;
} entry_points[PROGRAM_N] = {
	[PROGRAM_TRACEPOINT] = { "on_tracepoint", 0 },
	[PROGRAM_KPROBE] = { "on_kprobe", 0 },
	[PROGRAM_KPROBE_MULTI] = { "on_kprobe_multi", BPF_TRACE_KPROBE_MULTI },
	[PROGRAM_UPROBE] = { "on_uprobe", 0 },
	[PROGRAM_UPROBE_MULTI] = { "on_uprobe_multi", ABI_TRACE_UPROBE_MULTI },
	[PROGRAM_USDT] = { "on_usdt", 0 },
	[PROGRAM_USDT_MULTI] = { "on_usdt_multi", ABI_TRACE_UPROBE_MULTI },
	[PROGRAM_PERF_EVENT] = { "on_sample", 0 },
	[PROGRAM_KRETURN] = { "on_kreturn", 0 },
	[PROGRAM_KRETURN_MULTI] = { "on_kreturns", BPF_TRACE_KPROBE_MULTI },
	[PROGRAM_BEGIN] = { "on_begin_tp", 0 },
	[PROGRAM_UNTIL] = { "on_until_tp", 0 },
	[PROGRAM_SWITCH] = { "on_switch_raw", 0 },
	[PROGRAM_BEGIN_USER] = { "on_begin_up", 0 },
	[PROGRAM_UNTIL_USER] = { "on_until_up", 0 },
	[PROGRAM_BEGIN_USER_MULTI] = { "on_begin_ups", ABI_TRACE_UPROBE_MULTI },
	[PROGRAM_UNTIL_USER_MULTI] = { "on_until_ups", ABI_TRACE_UPROBE_MULTI },
	[PROGRAM_NEW_TASK] = { "on_new_task", 0 },
	[PROGRAM_EXEC] = { "on_program", 0 },
	[PROGRAM_EXIT] = { "on_end", 0 },
	[PROGRAM_RESERVED] = { "on_reserved", 0 },
};

/* The sections of programs that prepare_program() changes before they are loaded. */
static const struct {
	const char *section;
	enum bpf_prog_type type;
} program_sections[] = {
	{ "tracepoint/count", BPF_PROG_TYPE_TRACEPOINT },
	{ "kprobe/count", BPF_PROG_TYPE_KPROBE },
	{ "perf_event/count", BPF_PROG_TYPE_PERF_EVENT },
	{ "raw_tp/count", BPF_PROG_TYPE_RAW_TRACEPOINT },
};
