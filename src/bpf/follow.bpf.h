/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/follow.bpf.h - follow the processes of a command (config.command_tgid), by thread. A parent
 * notes its new thread or process before that runs. A thread is removed in its own exit.
 */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/maps.bpf.h"

static __always_inline void follow_task(__u32 tid)
{
	const __u32 one = 1;

	if (bpf_map_update_elem(&tasks, &tid, &one, BPF_ANY))
		note_lost(LOST_NOT_FOLLOWED);
}

static __always_inline void follow_child(__u32 child)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(&tasks, &tid))
		follow_task(child);
}

/* The command begins with its exec. A thread that execs takes its leader's number; @old is its own.
 */
static __always_inline void follow_exec(__u32 old)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (current_tgid() == config.command_tgid) {
		follow_task(tid);
	} else if (old != tid && bpf_map_lookup_elem(&tasks, &old)) {
		bpf_map_delete_elem(&tasks, &old);
		follow_task(tid);
	}
}
