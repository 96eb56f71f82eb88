/*
 * bpf/maps.bpf.h - the maps, the configuration and a hit's working memory.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/checked.h"
#include "bpf/kernel.h"
#include "bpf/tables.h"

#define NULL ((void *)0)

const volatile struct trace_config config;
struct trace_state trace_state;

/*
 * Add without a result. Linux 5.10 knows no addition that fetches one. Clang 21 makes such an
 * addition of __sync_fetch_and_add(), used or not, and of every order but the relaxed one.
 * Volatile: in order with the other volatile accesses, and with helpers' calls.
 */
#define add_atomically(at, n) \
	((void)__atomic_fetch_add((volatile typeof(*(at)) *)(at), n, __ATOMIC_RELAXED))

/* The two stacks of a hit. */
enum side { SIDE_KERNEL, SIDE_USER, SIDES };

/*
 * How long a walked stack is, is kept in memory, where the verifier does not follow its
 * values: it then looks at what comes behind a loop once, not once for every way out.
 */
struct walked {
	__u32 n;     /* words, the mark included; zeros behind, to the end of the piece */
	__u32 start; /* 0 or 1: index of the first */
	__u32 mark;
	__u32 n_turns;
};

/*
 * A hit's working memory. A per-CPU buffer is not private: a uprobe program can be
 * preempted by another one, and an interrupt can run a tracepoint's on top. So a slot
 * is claimed.
 */
#define SCRATCH_SLOTS 4

/* Where the walk along a user's chain of frame pointers stands. */
struct chain {
	__u64 sp; /* at the hit */
	__u64 bp; /* of the next frame */
};

/*
 * Hot rows that a CPU has counted in lately: their counters are found without the row. Valid in
 * the turn in which it was noted.
 */
#define RECENT_ROWS 32

struct recent_row {
	struct stack_key key;
	__u32 turn;
	__u32 hot;
};

/* What the kernel has mapped at an address. */
struct found_file {
	struct unwind_file_key key; /* inode 0: no file */
	__u64 start;                /* of the mapping */
	__u64 end;
	struct unwind_file found; /* what the file's code is walked by */
	__u64 is_made;            /* code in no file, and not the kernel's: a JIT compiler's */
	__u64 n_asked;            /* since user space was told of one */
	__u64 is_asked;           /* of this stack: not all of its code is in the slot's space */
};

/*
 * Words of a slot. The first is left free for a function to be put in front; a piece behind is
 * for zeros.
 */
#define KERNEL_ROOM (1 + SHORT_WORDS + CHUNK_WORDS)
#define USER_ROOM (1 + STACK_WORDS + CHUNK_WORDS)

struct scratch_slot {
	__u64 busy;
	__u64 number;   /* key in 'scratch' */
	__u64 event;    /* MODE_EVENTS: the number of the one that is being written */
	__u64 process;  /* MODE_EVENTS: announced last from here */
	__u64 asking;   /* enum asking */
	__u64 paced_ns; /* when the hit began, if struct cpu_pace is for it; else 0 */
	struct stack_key key;
	struct walked walked[SIDES];
	struct chain chain;
	struct unwind_window window;
	/* Of walking by tables: what was found for the frame, and its registers. */
	struct unwind_space space;
	__u64 space_key; /* its number, and trace_state.table_turn, mixed: no address */
	struct found_file file;
	struct unwind_rule rule;
	__u64 is_at_entry; /* of a function: the call has just put its return address on the stack
			    */
	__u64 word;
	struct unwind_regs regs;
	/* For a checked step: the code before the pc, and the result of the search. */
	__u64 code[CODE_WORDS + 1];
	__u64 frames; /* code_frames() of word @frames_at */
	__u32 frames_at;
	__u32 is_hidden;
	__u64 made_at; /* the address of made code whose set-up is searched for */
	struct recent_row recent[RECENT_ROWS];
	/* The kernel's stack, and behind it the user's: at the end, since few are long. */
	__u64 words[KERNEL_ROOM + USER_ROOM];
};

/* May bpf_find_vma() be asked? See may_ask(). */
enum asking { ASK_WITH_CARE, ASK_FREELY, ASK_NEVER };

/* One entry a slot: one look-up each, and the verifier takes them for the same. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, __u32);
	__type(value, struct scratch_slot);
} scratch SEC(".maps");

/*
 * Rows, in two generations. No per-CPU hash: each of its elements is an allocation from the
 * kernel's per-CPU memory, which made a new row five times as dear (20 us, measured), and
 * grows with the machine.
 *
 * A map's buckets are made with it, one for each entry it may ever have, and that takes
 * longer than all else at the start. So there are two levels: small maps, and large ones that
 * user space puts behind them once counting has begun.
 */
struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct stack_key);
	__type(value, struct stack_row);
} counts0 SEC(".maps"), counts1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct counts_map);
} more_counts SEC(".maps");

/* Entry hot_index(). User space maps it, and adds up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, __u64);
} hot SEC(".maps");

/* Stacks, of both generations: what is known stays known. */
struct stacks_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u64);
	__type(value, struct stack_chunk);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct stacks_map);
} more_stacks SEC(".maps");

/*
 * Pieces that are there from the beginning. With interrupts off the kernel's allocator gives what
 * it has at hand on the CPU, 32 to 96 elements, and a deep stack has 65 pieces. One entry unless
 * config.anywhere.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u64);
	__type(value, struct stack_chunk);
} spare SEC(".maps");

/* Entry call_index(). User space maps it, and adds up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTED_IN_KERNEL);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_pace);
} pace SEC(".maps");

/* Processes already announced to user space: process_key(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} seen SEC(".maps");

/* By the low bits of a process's number in the initial PID namespace. User space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct life_count);
} lives SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} wake SEC(".maps");

/* See struct event_ring. User space maps both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct event_ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct stream_event);
} events SEC(".maps");

/* See bpf/tables.h. User space maps the slabs. */
struct slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLAB_CHUNKS);
	__type(key, __u32);
	__type(value, struct table_chunk);
} slab0 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MOST_SLABS);
	__type(key, __u32);
	__array(values, struct slab_map);
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct unwind_space);
} spaces SEC(".maps");

/* Processes that share their memory: of one the other, by their numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, __u32);
} sharers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct unwind_file_key);
	__type(value, struct unwind_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct faulted_list);
} faulted SEC(".maps");

/* To be mapped, for the sake of its place: a set is not in two cache lines. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct recent_set);
} recent_rules SEC(".maps");

/* See keep_own_stack(). */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs SEC(".maps");

/* With several -p: the processes to be counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, __u32);
} tgids SEC(".maps");

/* With a command: its threads, by their number in the initial PID namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, __u32);
} tasks SEC(".maps");
