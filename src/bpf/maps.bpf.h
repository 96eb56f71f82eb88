/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/maps.bpf.h - the configuration, the kernel's structures, the working memory of a hit, and the
 * maps.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "arch/arch.bpf.h"
#include "bpf/abi.h"
#include "bpf/deferred.h"
#include "bpf/kernel_tables.h"
#include "bpf/tables.h"

#define NULL ((void *)0)

const volatile struct trace_config config;
struct trace_state trace_state;

/*
 * Add, and fetch no result. Clang 21 makes an addition that fetches of __sync_fetch_and_add(), even
 * if the result is not used, and of every memory order but the relaxed one. Volatile keeps the
 * order with other volatile accesses and with calls of helpers.
 */
#define add_atomically(at, n) \
	((void)__atomic_fetch_add((volatile typeof(*(at)) *)(at), n, __ATOMIC_RELAXED))

/* Add to the CPU's own number. @atomic: for is_preemptible() programs. */
static __always_inline void add_own(__u64 *own, __u64 n, bool atomic)
{
	if (atomic)
		add_atomically(own, n);
	else
		*own += n;
}

/* --- the kernel's structures --- */

struct task_struct;

/* The first members, the same in all kernels. struct member_offsets has the places of others. */
struct vm_area_struct {
	unsigned long vm_start, vm_end;
};

/* Behind it. Since Linux 6.3 in a union (1c71222e5f23). */
#define VM_FLAGS_AT (config.at.vm_page_prot + 8)

/* The same in all kernels. */
#define PF_EXITING 4 /* include/linux/sched.h: the thread ends */
#define VM_EXEC 4    /* include/linux/mm.h */

/* include/linux/mm.h: mmap()'s request for a free place. The same since Linux 3.7. */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length; /* bytes */
};

#define LAST_ERROR 4095 /* include/linux/err.h: error codes in place of the last addresses */

/*
 * A word of the kernel's memory, by a load; 0 if nothing is there. bpf_rdonly_cast() gives a number
 * the type of a pointer, which costs nothing at run time. The kernel's compiler of programs adds a
 * test that the address is the kernel's, and the load may fault.
 */
static __always_inline __u64 load_kernel(__u64 at)
{
	__u64 word;

	asm volatile("r1 = %[at]\n\t"
		     "r2 = %[type]\n\t"
		     "call %[cast]\n\t"
		     "%[word] = *(u64 *)(r0 + 0)"
		     : [word] "=r"(word)
		     : [at] "r"(at), [type] "i"(CAST_TYPE), [cast] "i"(CAST_CALL)
		     : "r0", "r1", "r2", "r3", "r4", "r5");
	return word;
}

/*
 * The member at @offset of a structure of the kernel, of a @type of 4 or 8 bytes. @of is a pointer
 * of the structure's type, or comes from such a load. If the verifier knows the type, it searches
 * all of the kernel's BTF for four names at each pointer that it loads, for 0.1 ms. With
 * load_kernel() it knows none. A load through a NULL pointer gives zeros.
 */
#define LOAD_MEMBER(type, of, offset)                                    \
	(config.loads_kernel ? (type)load_kernel((__u64)(of) + (offset)) \
			     : *(const type *)((const void *)(of) + (offset)))

/* The word at @offset of the current task's struct mm_struct. 0: there is none, or it is unknown.
 */
static __always_inline __u64 memory_member(__u32 offset)
{
	const void *mm = NULL;

	if (offset)
		mm = LOAD_MEMBER(void *, bpf_get_current_task_btf(), config.at.mm);
	return mm ? LOAD_MEMBER(__u64, mm, offset) : 0;
}

/* A member of a task that the verifier knows as a number. */
static __always_inline __u32 task_member(__u64 task, __u32 offset)
{
	__u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)(task + offset));
	return value;
}

/* --- the working memory of a hit --- */

/* The kind of an event, which tells the type of the context. Each entry point knows its own. */
enum hit_kind {
	HIT_KERNEL_FUNCTION, /* ctx: the kernel's registers at the function's entry */
	HIT_TRACEPOINT,      /* here: is_preemptible() is one comparison, which keeps loops small */
	HIT_USER_FUNCTION,   /* ctx: the user's registers at the function's entry */
	HIT_USER_PLACE,      /* ctx: the user's registers */
	/*
	 * A perf event. ctx: the registers at the event, of the user or of the kernel; readable by
	 * constant offsets alone. It may be in an interrupt or an NMI, on top of any code.
	 */
	HIT_SAMPLE,
	HIT_KERNEL_RETURN,  /* ctx: the kernel's registers after a function's return */
	HIT_RAW_TRACEPOINT, /* ctx: the tracepoint's arguments, and no registers */
};

static __always_inline bool is_user_hit(enum hit_kind kind)
{
	return kind == HIT_USER_FUNCTION || kind == HIT_USER_PLACE;
}

/*
 * May a thread in the event's program be preempted, and run it to the end after others? In a user
 * probe's program, and in a system call's since Linux 7.2 (trace_call_bpf_faultable()).
 */
static __always_inline bool is_preemptible(enum hit_kind kind)
{
	return is_user_hit(kind) || kind == HIT_TRACEPOINT;
}

/* The two stacks of a hit. */
enum side { SIDE_KERNEL, SIDE_USER, SIDES };

/*
 * The length of a walked stack lies in memory, where the verifier does not follow values. So the
 * verifier checks code behind a loop once, not once for each way out of the loop.
 */
struct walked {
	__u32 n;     /* words, with the mark; zeros follow up to the end of the piece */
	__u32 start; /* index of the first word: 0 or 1 */
	__u32 mark;
	__u32 n_turns;
};

/*
 * The working memory of a hit. A per-CPU buffer is not private: another uprobe's program can
 * preempt a uprobe's program, and an interrupt can run a program on top of it. So each CPU has
 * several slots, and a program claims one.
 */
#define SCRATCH_SLOTS 4

#define CODE_WORDS 64U /* that find_made() reads at once */
#define CODE_BYTES (CODE_WORDS * 8U)

/*
 * Hot rows that this slot has counted in lately, whose counters are found without the row. An entry
 * is valid in its turn only.
 */
#define RECENT_ROWS 32

struct recent_row {
	struct stack_key key;
	__u32 turn;
	__u32 hot;
};

/* The file that the kernel has mapped at an address. */
struct found_file {
	struct unwind_file_key key; /* inode 0: no file */
	__u64 start;                /* the address where the file would begin */
	struct unwind_file found;   /* how to walk the file's code */
	__u64 is_made;  /* the code is in no file, and not the kernel's: a JIT compiler made it */
	__u64 n_asked;  /* frames that needed the kernel's mapping, since the last notice */
	__u64 is_asked; /* this stack has code that the slot's space does not cover */
};

/*
 * Words of a slot's stacks. The first word is free for the traced function. The piece at the end is
 * for zeros.
 */
#define KERNEL_ROOM (1 + SHORT_WORDS + CHUNK_WORDS)
#define USER_ROOM (1 + STACK_WORDS + CHUNK_WORDS)

struct scratch_slot {
	struct slot_counts counts; /* first, because user space reads it */
	struct kernel_regs kernel; /* of the frame that the walk has come to */
	__u64 busy;
	__u64 number;   /* key in 'scratch' */
	__u64 event;    /* MODE_EVENTS: number of the event in progress */
	__u64 process;  /* MODE_EVENTS: the last process that this slot announced */
	__u64 asking;   /* enum asking */
	__u64 paced_ns; /* start of the hit, if struct cpu_pace measures it; else 0 */
	__u64 timed_ns; /* likewise for struct hit_cost */
	__s64 value;    /* with config.has_sum: of the hit */
	__u64 lacks_value;
	struct stack_key key;
	struct walked walked[SIDES];
	__u64 chain_sp; /* of a walk along frame pointers: the stack pointer at the hit */
	__u64 chain_fp; /* the frame pointer of the next frame; for record_code(), too */
	struct unwind_window window;
	/* For walks by tables: the current frame's space, file, rule and registers. */
	struct unwind_space space;
	__u32 space_of;   /* the process of @space, from the map; 0: it is not from there */
	__u32 space_turn; /* trace_state.space_turn before that */
	__u64 space_key;  /* hash of the space's number and trace_state.table_turn */
	struct found_file file;
	struct unwind_rule rule;
	__u64 is_at_entry; /* at a function's entry: see UNWIND_AT_ENTRY */
	/*
	 * The walk ended because no mapping or table is known yet: its words up to that frame. 0:
	 * it did not. Then the number of the deferred hit.
	 */
	__u64 deferred;
	__u64 word;
	struct unwind_regs regs;
	__u64 code[CODE_WORDS + 1]; /* for find_made(), and the address for which it searches */
	__u64 made_at;
	struct recent_row recent[RECENT_ROWS];
	/* The kernel's stack, then the user's. Last, because few stacks are long. */
	__u64 words[KERNEL_ROOM + USER_ROOM];
};

/* May the program call bpf_find_vma()? See may_find_vma(). */
enum asking { ASK_WITH_CARE, ASK_FREELY, ASK_NEVER };

/* The words of a stack. There is room for n_words() words behind its first one. */
static __always_inline __u64 *words_of_side(struct scratch_slot *slot, __u32 side)
{
	return &slot->words[(side & 1) * KERNEL_ROOM];
}

/* The number of a stack's words. The bound is in assembler, as in stack_piece_of(). */
static __always_inline __u64 n_words(const struct walked *w)
{
	__u64 n = *(const volatile __u32 *)&w->n;

	__asm__ volatile("if %[n] > %[most] goto +1\n\t"
			 "goto +1\n\t"
			 "%[n] = %[most]"
			 : [n] "+r"(n)
			 : [most] "i"(STACK_WORDS));
	return n;
}

#define HASH_GROUP 4

/* Write zeros behind the @n words: HASH_GROUP for hashing, CHUNK_WORDS for storing a piece. */
static __always_inline void clear_tail(__u64 *words, __u64 n, int n_zeros)
{
	words += n;
	barrier_var(words); /* or the compiler computes each address separately */
#pragma clang loop unroll(full)
	for (int i = 0; i < n_zeros; i++)
		*(volatile __u64 *)&words[i] = 0; /* volatile: or it becomes a call of memset() */
}

/* Note the walk's result: @n addresses from word @start on, then the mark, if there is one. */
static __always_inline void finish_walk(struct scratch_slot *slot, enum side side, __u32 start,
					__u32 n, __u32 mark)
{
	const __u32 most = side == SIDE_USER ? STACK_MAX_FRAMES : SHORT_MAX_FRAMES;

	if (n > most)
		n = most;
	if (mark)
		words_of_side(slot, side)[(start & 1) + n++] = mark;
	slot->walked[side].start = start;
	slot->walked[side].n = n;
}

/* --- maps --- */

#define ON_DEMAND BPF_F_NO_PREALLOC /* the kernel allocates each entry when it is added */
#define MAPPED BPF_F_MMAPABLE       /* user space maps the array */
#define SET_LATER 1                 /* entries: user space sets their number before loading */

/* With sizes, not types: user space changes some of them (size_rows() of attach/object.c). */
#define MAP(name, kind, flags, n, key, value)      \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_##kind); \
		__uint(map_flags, flags);          \
		__uint(max_entries, n);            \
		__uint(key_size, sizeof(key));     \
		__uint(value_size, sizeof(value)); \
	} name SEC(".maps")

#define MAP_OF_MAPS(name, n, inner)                       \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, n);                   \
		__uint(key_size, sizeof(__u32));          \
		__array(values, typeof(inner));           \
	} name SEC(".maps")

/* One entry for each slot. All are alike for the verifier. */
MAP(scratch, PERCPU_ARRAY, 0, SCRATCH_SLOTS, __u32, struct scratch_slot);

/*
 * Rows, in two generations. These are no per-CPU hash maps: each of their elements is an allocation
 * of per-CPU memory. That made a new row five times as costly (20 us, measured), and grows with the
 * machine.
 *
 * The kernel makes a map's buckets with the map, one for each possible entry. For large maps, this
 * takes longer than the rest of the start. So there are two levels: small maps, and large ones that
 * user space adds once counting has begun.
 */
MAP(counts0, HASH, ON_DEMAND, SET_LATER, struct stack_key, struct stack_row);
MAP(counts1, HASH, ON_DEMAND, SET_LATER, struct stack_key, struct stack_row);
MAP_OF_MAPS(more_counts, 2, counts0);

/* Index: hot_index(). User space adds up the counters. */
MAP(hot, ARRAY, MAPPED, SET_LATER, __u32, __u64);

/* Stacks of both generations, so a known stack is stored once. */
MAP(stacks, HASH, ON_DEMAND, SET_LATER, __u64, struct stack_chunk);
MAP_OF_MAPS(more_stacks, 1, stacks);

/*
 * Pieces that exist from the start. With interrupts off, the kernel's allocator has 32 to 96
 * elements at hand on a CPU, and a deep stack has 65 pieces. The map has one entry if
 * config.anywhere is not set.
 */
MAP(spare, HASH, 0, SET_LATER, __u64, struct stack_chunk);

/*
 * Beginnings that wait for their ends. Not allocated on demand: beginnings come where the
 * scheduler's locks are held, too.
 */
MAP(begun, HASH, 0, SET_LATER, struct begun_key, struct beginning);

/* Index: call_index(). User space adds up the counters. */
MAP(calls, ARRAY, MAPPED, SET_LATER, __u32, __u64);

MAP(lost, PERCPU_ARRAY, 0, COUNTED_IN_KERNEL, __u32, __u64);
MAP(pace, PERCPU_ARRAY, 0, 1, __u32, struct cpu_pace);

/*
 * Processes that were announced to user space lately: process_key(). Index: its hash. Two processes
 * with one entry are announced again and again. An LRU map has locks, for which an NMI on top of
 * their owner would wait for ever.
 */
#define SEEN_BITS 12

MAP(seen, ARRAY, 0, 1 << SEEN_BITS, __u32, __u64);

/* Index: the low bits of a process's number in the initial PID namespace. */
MAP(lives, ARRAY, MAPPED, SET_LATER, __u32, struct life_count);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAKE_BYTES);
} wake SEC(".maps");

/* See struct event_ring. */
MAP(rings, ARRAY, MAPPED, SET_LATER, __u32, struct event_ring);
MAP(events, ARRAY, MAPPED, SET_LATER, __u32, struct stream_event);

/* See bpf/deferred.h. */
MAP(deferred, ARRAY, MAPPED, SET_LATER, __u32, struct deferred_piece);
struct deferred_ring deferred_ring;

/* See bpf/tables.h. */
MAP(slab0, ARRAY, MAPPED, SLAB_CHUNKS, __u32, struct table_chunk);
MAP_OF_MAPS(slabs, MOST_SLABS, slab0);
MAP(spaces, HASH, ON_DEMAND, SET_LATER, __u32, struct unwind_space);
MAP(files, HASH, ON_DEMAND, SET_LATER, struct unwind_file_key, struct unwind_file);

/* User space does not map this one. The flag aligns it to a page, so a set lies in a cache line. */
MAP(recent_rules, ARRAY, MAPPED, SET_LATER, __u32, struct recent_set);

/* See keep_own_stack(). Each is for programs of one type: kprobes, tracepoints. */
MAP(no_programs, PROG_ARRAY, 0, 1, __u32, __u32);
MAP(no_tracepoints, PROG_ARRAY, 0, 1, __u32, __u32);

/*
 * What to count: processes (config.has_tgids), or threads by their numbers in the initial PID
 * namespace (config.follow).
 */
MAP(wanted, HASH, ON_DEMAND, SET_LATER, __u32, __u32);
