// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The least possible cost of an event: programs that only take stacks by the helper function. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct words {
	__u64 kernel[127];
	__u64 user[127];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct words);
} scratch SEC(".maps");

static __always_inline int take(void *ctx, int kernel, int user)
{
	__u32 zero = 0;
	struct words *words = bpf_map_lookup_elem(&scratch, &zero);

	if (!words)
		return 0;
	if (kernel)
		bpf_get_stack(ctx, words->kernel, sizeof(words->kernel), 0);
	if (user)
		bpf_get_stack(ctx, words->user, sizeof(words->user), BPF_F_USER_STACK);
	return 0;
}

SEC("?tracepoint")
int empty(void *ctx)
{
	return 0;
}

SEC("?tracepoint")
int kernel(void *ctx)
{
	return take(ctx, 1, 0);
}

SEC("?tracepoint")
int user(void *ctx)
{
	return take(ctx, 0, 1);
}

SEC("?tracepoint")
int both(void *ctx)
{
	return take(ctx, 1, 1);
}

/* multi.c attaches one of these two to all functions, by one link. */
SEC("?kprobe.multi")
int functions(void *ctx)
{
	return 0;
}

SEC("?kprobe.multi")
int function_stacks(void *ctx)
{
	return take(ctx, 1, 0);
}
