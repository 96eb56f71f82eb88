// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The least possible cost of recording each event: both stacks into the kernel's ring buffer. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define STACK_BYTES (127 * 8)

struct record {
	__u64 time;
	__u64 process;
	char stacks[2 * 1024];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);
} ring SEC(".maps");

__u64 lost;
const volatile __u32 pids[2];

SEC("tracepoint")
int record_stacks(void *ctx)
{
	__u32 zero = 0, pid = bpf_get_current_pid_tgid() >> 32;
	struct record *record = bpf_map_lookup_elem(&scratch, &zero);
	long kernel, user;

	if (!record || (pid != pids[0] && pid != pids[1]))
		return 0;
	record->time = bpf_ktime_get_ns();
	record->process = bpf_get_current_pid_tgid();
	kernel = bpf_get_stack(ctx, record->stacks, STACK_BYTES, 0);
	kernel = kernel < 0 ? 0 : kernel & 1023;
	user = bpf_get_stack(ctx, record->stacks + kernel, STACK_BYTES, BPF_F_USER_STACK);
	user = user < 0 ? 0 : user & 1023;
	if (bpf_ringbuf_output(&ring, record, 16 + kernel + user, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}
