// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tests/lint/walk.bpf.c - a BPF program with the step of bpf/user_step.h and the search for its rule,
 * over the table of one image. It is compiled by tests/lint/walk, and passes the verifier (bpftool
 * prog load).
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/user_step.h"

#define CHUNK_ENTRIES 1024
#define MAX_FRAMES 128

struct chunk {
	struct unwind_entry entries[CHUNK_ENTRIES];
};

struct walk {
	struct unwind_regs regs;
	__u64 base;
	__u64 pcs[MAX_FRAMES];
	__u32 n;
	__u32 end;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct chunk);
} chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline _Bool read_user(void *from, __u64 at, __u64 *ret)
{
	(void)from;
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)at) == 0;
}

static __always_inline _Bool chunk_entry(void *from, __u32 i, struct unwind_entry *ret)
{
	__u32 number = i / CHUNK_ENTRIES;
	const struct chunk *chunk = bpf_map_lookup_elem(&chunks, &number);

	(void)from;
	if (!chunk)
		return 0;
	*ret = chunk->entries[i % CHUNK_ENTRIES];
	return 1;
}

static __always_inline const struct unwind_rule *find_rule(const struct walk *walk)
{
	__u64 vaddr = unwind_look_up_at(&walk->regs) - walk->base;
	__u32 page = vaddr >> UNWIND_PAGE_BITS, next = page + 1, number;
	const __u32 *first = bpf_map_lookup_elem(&pages, &page);
	const __u32 *last = bpf_map_lookup_elem(&pages, &next);
	__u16 rule;

	if (!first || !last || !unwind_find(*first, *last, vaddr, chunk_entry, 0, &rule))
		return 0;
	number = rule;
	return bpf_map_lookup_elem(&rules, &number);
}

static long walk_on(__u64 i, struct walk **context)
{
	struct walk *walk = *context;
	const struct unwind_rule *rule = find_rule(walk);

	walk->pcs[i & (MAX_FRAMES - 1)] = walk->regs.pc;
	walk->n = i + 1;
	if (!rule)
		walk->end = UNWIND_END_NO_TABLE;
	else
		walk->end = unwind_step(&walk->regs, *rule, read_user, 0);
	return walk->end != UNWIND_GOES_ON;
}

SEC("perf_event")
int walk_user(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct walk *walk = bpf_map_lookup_elem(&walks, &zero);

	(void)ctx;
	if (walk)
		bpf_loop(MAX_FRAMES, walk_on, &walk, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
