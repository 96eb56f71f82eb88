/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/filter.bpf.h - is this hit wanted? Also losses, lives and notices, which all programs need.
 */
#pragma once

#include "bpf/maps.bpf.h"

static __always_inline void note_lost(__u32 reason)
{
	__u64 *n = bpf_map_lookup_elem(&lost, &reason);

	if (n)
		add_atomically(n, 1);
}

/* The life count of a process, by its number in the initial PID namespace. */
static __always_inline struct life_count *find_life(__u32 pid)
{
	const __u32 i = pid % LIVES;

	return bpf_map_lookup_elem(&lives, &i);
}

static __always_inline __u32 current_life(void)
{
	const __u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct life_count *life = find_life(pid);

	return life ? LIFE(pid % LIVES, *(volatile __u32 *)&life->n_raised) : 0;
}

static __always_inline void describe_process(struct notice *notice)
{
	struct life_count *life = NULL;

	notice->time = bpf_ktime_get_ns();
	notice->user = (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(notice->comm, sizeof(notice->comm));
	if (config.max_user_frames)
		life = find_life(bpf_get_current_pid_tgid() >> 32);
	if (life)
		notice->since = *(volatile __u64 *)&life->since;
}

/*
 * Send a notice to user space. If the ring is full the notice is lost, but no count: user space
 * also looks by itself. Returns 0 or an error.
 */
static __always_inline int send_notice(__u32 type, __u64 process)
{
	struct notice notice = { .type = type,
				 .tgid = tgid_of_key(process),
				 .life = life_of_key(process) };

	if (type == NOTICE_PROCESS)
		describe_process(&notice);
	return (int)bpf_ringbuf_output(&wake, &notice, sizeof(notice), BPF_RB_FORCE_WAKEUP);
}

/* The current process's number in our PID namespace; 0 if it has none there. */
static __always_inline __u32 current_tgid(void)
{
	struct bpf_pidns_info ids = {};

	if (!config.has_pidns)
		return bpf_get_current_pid_tgid() >> 32;
	if (bpf_get_ns_current_pid_tgid(config.pidns_dev, config.pidns_ino, &ids, sizeof(ids)))
		return 0;
	return ids.tgid;
}

/* Likewise for the current thread. */
static __always_inline __u32 current_tid(void)
{
	struct bpf_pidns_info ids = {};

	if (!config.has_pidns)
		return (__u32)bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(config.pidns_dev, config.pidns_ino, &ids, sizeof(ids)))
		return 0;
	return ids.pid;
}

static __always_inline bool is_wanted_task(__u32 tgid)
{
	if (config.no_idle && !(__u32)bpf_get_current_pid_tgid())
		return false;
	if (config.has_cpus) {
		__u32 cpu = bpf_get_smp_processor_id();

		if (cpu >= MAX_CPUS || !(config.cpus[cpu / 64] >> (cpu % 64) & 1))
			return false;
	}
	if (config.tgid && tgid != config.tgid)
		return false;
	if (config.has_tgids && !bpf_map_lookup_elem(&tgids, &tgid))
		return false;
	if (config.follow) {
		__u32 tid = bpf_get_current_pid_tgid();

		return bpf_map_lookup_elem(&tasks, &tid);
	}
	return true;
}

/* Is the hit below the limit of --events? */
static __always_inline bool is_below_limit(void)
{
	__u64 n;

	if (!config.max_events)
		return true;
	n = __sync_fetch_and_add(&trace_state.n_hits, 1);
	if (n + 1 == config.max_events)
		send_notice(NOTICE_ENOUGH, 0);
	return n < config.max_events;
}
