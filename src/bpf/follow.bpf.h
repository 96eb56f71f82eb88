/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/follow.bpf.h - the programs that follow the processes of a command. */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * The return value of programs at tracepoints. After a 0, the kernel skips the perf events of
 * others at the same tracepoint, and those that follow processes. See perf_trace_run_bpf_submit(),
 * since Linux 4.7.
 */
#define OTHERS_GO_ON 1

/*
 * We follow a command's processes by thread. A parent notes its new thread or process before that
 * runs. A thread is removed in its own exit.
 */
static __always_inline void follow_task(__u32 tid)
{
	const __u32 one = 1;

	if (bpf_map_update_elem(&tasks, &tid, &one, BPF_ANY))
		note_lost(LOST_NOT_FOLLOWED);
}

SEC("?tracepoint")
int on_fork(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u32 child = 0;

	if (!bpf_map_lookup_elem(&tasks, &tid))
		return OTHERS_GO_ON;
	if (bpf_probe_read_kernel(&child, sizeof(child), ctx + config.fork_child_offset) == 0)
		follow_task(child);
	return OTHERS_GO_ON;
}

/* The command begins with its exec. A thread that execs takes its leader's number. */
SEC("?tracepoint")
int on_exec(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u32 old = 0;

	if (current_tgid() == config.command_tgid) {
		follow_task(tid);
		return OTHERS_GO_ON;
	}
	if (bpf_probe_read_kernel(&old, sizeof(old), ctx + config.exec_old_offset) == 0 &&
	    old != tid && bpf_map_lookup_elem(&tasks, &old)) {
		bpf_map_delete_elem(&tasks, &old);
		follow_task(tid);
	}
	return OTHERS_GO_ON;
}

SEC("?tracepoint")
int on_exit(void *ctx __attribute__((unused)))
{
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&tasks, &tid);
	return OTHERS_GO_ON;
}
