/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/abi.h - structures that the BPF programs and user space share. Both sides include this one
 * definition.
 *
 * A stack is a row of 64-bit words: addresses, innermost first, then zeros. If the stack was cut or
 * may be wrong, a mark stands between them: one word below STACK_MARK_END that gives the reason. So
 * such a stack never has the hash of a complete one.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Flags of words in user stacks. */
#define STACK_WORD_EXACT (1ULL << 63) /* a signal interrupted here: no return address */
#define STACK_WORD_PLAIN (1ULL << 62) /* an address, although it is small enough for a mark */

#define LEAST_CODE 4096 /* no code is mapped below, so marks are numbers there */

#define STACK_MAX_FRAMES 1024 /* of a user stack, which our programs walk */
#define SHORT_MAX_FRAMES 127  /* the kernel's own walk gives no more */
#define STACK_WORDS 1040      /* room for the mark, in whole pieces */
#define SHORT_WORDS 128
#define CHUNK_WORDS 16
#define CHUNKS_PER_STACK (STACK_WORDS / CHUNK_WORDS)
#define SHORT_CHUNKS (SHORT_WORDS / CHUNK_WORDS)

/* The work of a program at a hit. */
enum trace_mode {
	MODE_STACKS, /* count it in the row of its stacks */
	MODE_EVENTS, /* write it into a ring, with its stacks */
	MODE_CALLS,  /* count it for its target */
};

/* Low bits: why a stack is cut. Flags above: why frames may be wrong. */
enum stack_mark {
	STACK_MARK_NONE,
	STACK_MARK_DEPTH,      /* the kernel's limit of depth, or ours */
	STACK_MARK_UNREADABLE, /* a page of the stack was not resident */
	STACK_MARK_FAILED,     /* the kernel's walk returned an error */
	STACK_MARK_TORN, /* set by user space: pieces were deleted while the stack was stored */
	STACK_MARK_WALK, /* plus the enum unwind_end of arch/user_step.h */
	STACK_MARK_UNVERIFIED = 1 << 8, /* steps by frame pointer without proof */
	STACK_MARK_32_BIT = 1 << 9,     /* a 32-bit program, walked by the kernel */
	STACK_MARK_END = 1 << 10,
};

#define STACK_MARK_CUT_BITS 0xffU
_Static_assert(STACK_MARK_WALK + 16 <= STACK_MARK_CUT_BITS, "abi");

/* Why a hit could not be counted in its row. */
enum lost_reason {
	LOST_NO_SCRATCH,           /* too many hits nested on one CPU */
	LOST_STACKS_FULL,          /* no room for the frames of a new stack */
	LOST_COUNTS_FULL,          /* no room for a new row */
	LOST_NO_MEMORY,            /* the kernel's allocator had no memory at hand */
	LOST_NOT_FOLLOWED,         /* no hits: new tasks of the command that could not be noted */
	LOST_RING_FULL,            /* no room for a new event */
	LOST_IN_PAUSE,             /* user space was forgetting stacks (TURN_PAUSE) */
	LOST_AT_REST,              /* the CPU was at rest: struct cpu_pace */
	LOST_IN_USE,               /* an NMI came while the map was being changed */
	LOST_NO_VALUE,             /* its value cannot be read, or is not known there */
	LOST_BEGUN_FULL,           /* no room for a beginning in the map 'begun' */
	LOST_IN_KERNEL,            /* number of the reasons above */
	OWN_HITS = LOST_IN_KERNEL, /* no loss: hits of our own processes, left out */
	SAMPLES, /* no loss: runs of the program of perf events, whatever it did with them */
	/* With trace_config.n_groups; no losses: */
	BEGUN,       /* beginnings, whatever became of them */
	UNFINISHED,  /* kept beginnings whose thread began anew, or ended, before their end came */
	ENDED_ALONE, /* ends without a kept beginning */
	COUNTED_IN_KERNEL,
};

/*
 * The value of the 'counts' maps. After HITS_TO_HOT hits a row gets a counter on each CPU, in entry
 * hot_index() of the map 'hot', so that a hot stack bounces no cache line. The row's count is then
 * the sum of @count and these counters.
 */
struct stack_row {
	__u64 count;
	__u32 first_low;  /* time of the first hit, ns of CLOCK_MONOTONIC: the low 48 bits, */
	__u16 first_high; /* which wrap around after 78 hours */
	__u16 hot;        /* number of its counters in 'hot'; 0: it has none */
};
_Static_assert(sizeof(struct stack_row) == 16, "abi");

/*
 * With trace_config.has_sum, the value of 'counts' is this one, and a counter in 'hot' has two
 * words: the hits and the sum of their values.
 */
struct summed_row {
	struct stack_row row;
	__s64 sum; /* likewise without the counters in 'hot' */
};
_Static_assert(sizeof(struct summed_row) == 24, "abi");

#define HOT_WORDS(has_sum) ((has_sum) ? 2U : 1U)

#define HITS_TO_HOT 64
#define MOST_HOT_ROWS 1024

#define ROW_TIME_MASK ((1ULL << 48) - 1)

/* The counters of one CPU lie together, so no cache line belongs to two. @hot counts from 1. */
static inline __u32 hot_index(__u32 cpu, __u32 generation, __u32 hot, __u32 n_hot_rows)
{
	return (cpu * 2 + generation) * n_hot_rows + hot - 1;
}

/* Key of the 'counts' maps. */
struct stack_key {
	__u64 kernel_stack; /* hash of its words; 0: no stack */
	__u64 user_stack;   /* likewise */
	__u32 tgid;         /* set with a user stack or with per_process; else 0 */
	__u32 flags;        /* KEY_* */
};
_Static_assert(sizeof(struct stack_key) == 24, "abi");

/* Execution stands at the first address: it is no return address. */
#define KEY_USER_PC_EXACT 1
#define KEY_KERNEL_PC_EXACT 2
/*
 * With a tgid, the bits above contain the process's life. A process begins another life at exec, at
 * exit, and when other code comes to known addresses. LIFE() combines the number of the process's
 * entry in the map 'lives' with the count of raises of that entry. Processes share an entry if
 * their numbers in the initial PID namespace have the same low 16 bits. The entry's number is part
 * of the life because numbers within a PID namespace are reused much sooner.
 *
 * Without a tgid, but with per_process, the bits contain the CPU plus 1 for an idle task, since
 * each CPU has its own. They are 0 for a process outside of our PID namespace.
 */
#define KEY_LIFE_SHIFT 2
#define LIVES 65536 /* entries */
#define LIFE(entry, n_raised) (((n_raised) << 16 | (entry)) & 0x3fffffff)

/* A process in one of its lives, or an idle task, as one number. See KEY_LIFE_SHIFT. */
static inline __u64 process_key(__u32 tgid, __u32 life)
{
	return (__u64)life << 32 | tgid;
}

static inline __u32 tgid_of_key(__u64 process)
{
	return (__u32)process;
}

static inline __u32 life_of_key(__u64 process)
{
	return (__u32)(process >> 32);
}

struct life_count {
	__u64 since; /* last raise by a program, ns of CLOCK_MONOTONIC; 0: none */
	__u32 n_raised;
	__u32 rows; /* which space covers the rows made since: see below */
};
_Static_assert(sizeof(struct life_count) == 16, "abi");

/*
 * Values of life_count.rows: the number of the published space (struct unwind_space) that covers
 * the code of all rows with user stacks. LIFE_UNTOLD_ROWS: several do, or none.
 */
#define LIFE_NO_ROWS 0U
#define LIFE_UNTOLD_ROWS 0xffffffffU

/*
 * The 'stacks' maps hold stacks in pieces. A piece's key is the stack's hash, whose low bits are
 * zero, plus the number of the piece. The last piece ends with at least one zero, so user space
 * notices a missing piece.
 */
#define CHUNK_NUMBERS 127ULL
#define STACK_HASH(bits) ((bits) & ~CHUNK_NUMBERS ? (bits) & ~CHUNK_NUMBERS : CHUNK_NUMBERS + 1)

_Static_assert(CHUNKS_PER_STACK <= CHUNK_NUMBERS + 1, "abi");
_Static_assert(STACK_MAX_FRAMES + 1 < STACK_WORDS, "abi"); /* room for the mark and a zero */

/* In place of the hash of a user stack that user space walks. No hash has these low bits. */
#define LATE_STACK(number) ((number) << 7 | 1)
#define IS_LATE_STACK(hash) (((hash)&CHUNK_NUMBERS) != 0)

/*
 * With trace_config.n_groups, an event begins, and another one ends it. A beginning waits in the
 * map 'begun' for its end, which counts it in the row of its stacks, with the time between.
 *
 * Pairs of one group exclude each other in a thread: of those, one beginning waits at a time. The
 * number of a pair (hit_target()) has its group in the upper half. Calls of user functions nest,
 * and each has a place of its own on the stack.
 */
struct begun_key {
	__u64 sp; /* of a user function: the stack pointer at its entry and exits; else 0 */
	/*
	 * In the initial PID namespace. IDLE_THREAD plus the CPU of an idle task. Of a user
	 * function: the process, because threads may hand stacks to each other.
	 */
	__u32 thread;
	__u32 group;
};
_Static_assert(sizeof(struct begun_key) == 16, "abi");

#define IDLE_THREAD 0x80000000U
#define PAIR_NUMBER(group, i) ((__u32)(group) << 16 | (__u32)(i))
#define GROUP_OF_PAIR(number) ((number) >> 16)
#define MOST_GROUPS 16
#define MOST_PAIRS_OF_GROUP 65536

struct beginning {
	__u64 time; /* ns of CLOCK_MONOTONIC, after the walk */
	struct stack_key key;
	__u32 pair;
	__u32 pad;
};
_Static_assert(sizeof(struct beginning) == 40, "abi");

/* Pieces of the map 'spare': a thousand deep stacks need no allocator. 3 MiB. */
#define SPARE_CHUNKS 16384
#define SPARE_TO_NOTICE (SPARE_CHUNKS / 4)

struct stack_chunk {
	__u64 words[CHUNK_WORDS];
};
_Static_assert(sizeof(struct stack_chunk) == 8UL * CHUNK_WORDS, "abi");

#define WAKE_BYTES 65536UL /* of the ring buffer 'wake' */

/* The messages in it. */
enum notice_type {
	NOTICE_FILLING,  /* the maps of the current generation fill up */
	NOTICE_ENOUGH,   /* --events hits have been counted */
	NOTICE_PROCESS,  /* a process was hit for the first time */
	NOTICE_EVENTS,   /* there are new events, and the reader sleeps */
	NOTICE_UNMAPPED, /* user space has not published all mappings of a process */
	NOTICE_DEFERRED, /* a deferred hit has come into an empty ring */
};

struct notice {
	__u32 type; /* enum notice_type */
	__u32 tgid; /* NOTICE_PROCESS with @life, NOTICE_UNMAPPED */
	__u32 life;
	__u32 user;      /* the real user ID, outside of all user namespaces */
	__u64 time;      /* ns of CLOCK_MONOTONIC */
	__u64 since;     /* life_count.since of the process */
	__u32 is_walked; /* NOTICE_UNMAPPED: the walk succeeded by the kernel's mappings */
	__u32 pad;
	char comm[16];
};
_Static_assert(sizeof(struct notice) == 56, "abi");

/*
 * The rings of MODE_EVENTS. A CPU has entry @cpu of the map 'rings', and @ring_events entries of
 * the map 'events', from cpu * ring_events on.
 *
 * A program takes a place by an atomic addition to @head. Then it reads the clock, fills in the
 * event, and writes the event's number last. User space reads its clock before the heads, so an
 * event that it does not see is later than its clock. A place that is taken but has no number yet
 * is being written. User space moves @tail.
 */
struct event_ring {
	__u64 head; /* places taken */
	__u64 pad0[7];
	__u64 tail; /* events read, so their places are free */
	__u64 pad1[7];
};
_Static_assert(sizeof(struct event_ring) == 128, "abi");

/* Bits of stream_event.state. */
#define EVENT_LOST 1     /* its stacks could not be stored; counted as a loss */
#define EVENT_DEFERRED 2 /* user_stack is the number of a struct deferred_hit */
#define EVENT_NO_VALUE 4 /* its value cannot be read, or is not known there */

struct stream_event {
	__u64 number;       /* from 1; written last */
	__u64 time;         /* ns of CLOCK_MONOTONIC */
	__u64 kernel_stack; /* hash, as in struct stack_key */
	__u64 user_stack;
	__u32 tgid;
	__u32 tid;
	__u32 flags; /* KEY_* */
	__u32 state; /* EVENT_* */
	char comm[16];
};
_Static_assert(sizeof(struct stream_event) == 64, "abi");

/* With trace_config.has_sum, the value of 'events' is this one. */
struct valued_event {
	struct stream_event event;
	__s64 value;
};
_Static_assert(sizeof(struct valued_event) == 72, "abi");

/* The value of 'trace_state'. Both sides write it while tracing. */
#define TURN_OFF 0   /* count nothing */
#define TURN_PAUSE 1 /* MODE_EVENTS: each hit is a loss */
#define FIRST_TURN 2 /* each change of the generation adds 1 */

struct trace_state {
	__u32 turn;        /* count in generation turn % 2 */
	__u32 table_turn;  /* dates the last use of an unwind table: see struct unwind_image */
	__u32 helper_tgid; /* one more process of ours, whose hits are left out; 0: none */
	__u32 space_turn;  /* changes after each change of the map 'spaces' */
	/*
	 * The process whose children read foreign files for us (files/zygote.h): its number in our
	 * PID namespace; 0: there is none. Its hits and theirs are left out.
	 */
	__u32 zygote;
	__u32 pad0[11];  /* new rows write the members below, each hit reads those above */
	__u64 n_rows[2]; /* rows in each generation */
	__u64 n_hot[2];  /* rows that asked for hot counters */
	__u64 n_chunks;
	__u64 is_noticed;     /* NOTICE_FILLING was sent */
	__u64 is_asleep;      /* MODE_EVENTS: the reader wants NOTICE_EVENTS */
	__u64 is_unmapped[2]; /* NOTICE_UNMAPPED was sent. Index: its is_walked */
	__u64 n_spare;        /* part of @n_chunks: those in the map 'spare' */
	__u64 pad1[6];
	__u64 n_hits; /* counted only with max_events */
	__u64 pad2[15];
	/*
	 * The zygote's children, each at its number in the initial PID namespace % OWN_PLACES, as
	 * on_new_task() notes them before they run. The last one with a place has it.
	 */
#define OWN_PLACES 4096
	__u32 children[OWN_PLACES];
};
_Static_assert(sizeof(struct trace_state) == 320 + OWN_PLACES * 4, "abi");

#define MAX_CPUS 4096

/*
 * The CPU time that hits take in hardware interrupts; with trace_config.paces_tasks, those of all
 * kernel events. If they take more than half of a window, the CPU rests, and hits are lost. Each
 * further rest is twice as long. Without rests, a hit could raise an interrupt whose functions are
 * hit in turn, without end.
 */
struct cpu_pace {
	__u64 since;   /* start of the window, ns of CLOCK_MONOTONIC */
	__u64 busy_ns; /* since @since */
	__u64 rest_until;
	__u64 n_rests; /* consecutive rests */
	/* bpf_find_vma() raised an interrupt: call it no more before this time. */
	__u64 ask_after;
	__u64 n_raised; /* calls that raised an interrupt, minus calls that did not */
};

#define PACE_WINDOW_NS 20000000ULL
#define MOST_RESTS 6
#define ASK_PAUSE_NS 100000ULL /* doubled with each interrupt raised */
#define MOST_RAISED 13

/* Placeholders in the programs. User space replaces them: see prepare_program(). */
#define PREEMPT_COUNT_ID 0x7a26e702 /* object_options.preempt_count */
#define CAST_CALL 0x7a26e703        /* likewise: see load_kernel() */
#define CAST_TYPE 0x7a26e704
#define VALUE_CALL 0x7a26e705 /* a call of the code of a hit's value: see value_of_hit() */

#define SERVING_SOFTIRQ 0x100 /* the bit's value in all kernels (include/linux/preempt.h) */

/* The map 'calls' has a counter for each CPU and target. A CPU's begin with a cache line. */
#define CALLS_PER_LINE 8U

static inline __u32 calls_per_cpu(__u32 n_targets)
{
	return (n_targets + CALLS_PER_LINE - 1) / CALLS_PER_LINE * CALLS_PER_LINE;
}

static inline __u32 call_index(__u32 cpu, __u32 target, __u32 per_cpu)
{
	return cpu * per_cpu + target;
}

/*
 * Members of the kernel's structures that the programs read, at byte offsets that user space reads
 * from the kernel's BTF. The structure without a name is the one that struct mm_struct begins with.
 */
#define KERNEL_MEMBERS(X)               \
	X(vm_area_struct, vm_page_prot) \
	X(vm_area_struct, vm_pgoff)     \
	X(vm_area_struct, vm_ops)       \
	X(vm_area_struct, vm_file)      \
	X(file, f_inode)                \
	X(inode, i_sb)                  \
	X(inode, i_ino)                 \
	X(inode, i_size)                \
	X(inode, i_mtime_sec)           \
	X(inode, i_mtime_nsec)          \
	X(super_block, s_dev)           \
	X(task_struct, pid)             \
	X(task_struct, tgid)            \
	X(task_struct, flags)           \
	X(task_struct, mm)              \
	X(, end_code)                   \
	X(, start_stack)

#define MEMBER_OFFSET(structure, member) __u32 member;
struct member_offsets {
	KERNEL_MEMBERS(MEMBER_OFFSET)
};

/* Set once, before loading. The verifier prunes code that depends on a member that is zero. */
struct trace_config {
	__u64 hash_seed[2];   /* random, odd */
	__u64 max_events;     /* 0: no limit */
	__u64 rows_to_notice; /* of a generation: then NOTICE_FILLING is sent */
	__u64 chunks_to_notice;
	__u64 max_chunks;
	__u64 pidns_dev; /* with @has_pidns: our PID namespace */
	__u64 pidns_ino;
	__u32 max_kernel_frames; /* 0: no kernel stacks */
	__u32 max_user_frames;   /* 0: no user stacks, and the map 'lives' is not kept */
	__u32 kernel_limit;      /* the kernel cuts a walk at this many frames */
	__u32 tgid;              /* count this process only; 0: any */
	__u32 has_tgids;         /* count the processes in the map 'wanted' only */
	__u32 has_cpus;          /* count on CPUs in @cpus only */
	__u32 has_pidns;         /* we are not in the initial PID namespace */
	__u32 per_process;       /* a row belongs to one process, even without user stack */
	__u32 follow;            /* count the threads in the map 'wanted' only */
	__u32 command_tgid;      /* follow this command, in our PID namespace; 0: there is none */
	__u32 n_hot_rows;        /* rows of a generation with counters for each CPU */
	__u32 mode;              /* enum trace_mode */
	__u32 ring_events;       /* MODE_EVENTS: places in each CPU's ring, a power of two */
	__u32 by_cookie;         /* a target's number is its attach cookie; else all are 0 */
	__u32 calls_per_cpu;     /* calls_per_cpu(); 0: the hits of each target are not counted */
	__u32 unwind;            /* walk user stacks by tables (bpf/tables.h) */
	__u32 asks_with_care;    /* tracepoints of interrupts: see may_find_vma() */
	__u32 anywhere;          /* interrupts may be off at a hit; also set on PREEMPT_RT */
	__u32 never;             /* always 0: see keep_own_stack() */
	/* Walk kernel stacks by tables (bpf/kernel_tables.h), so many frames at most; 0: do not. */
	__u32 kernel_tables;
	__u32 checks_kernel;   /* compare every kernel stack with the helper's, and go on */
	__u32 no_recent_rules; /* search tables for each frame, to measure recent rules */
	__u32 own_tgid;        /* leave out hits of this process, our own; 0: leave out none */
	__u32 paces_tasks;     /* struct cpu_pace measures hits of tasks, too */
	__u32 hardirq_mask;    /* bits of the kernel's preempt_count; 0: programs cannot read it */
	__u32 nmi_mask;
	__u32 preempt_offset;     /* byte offset of preempt_count in its per-CPU variable */
	__u32 loads_kernel;       /* with @kernel_tables: by load_kernel(), not by a helper */
	__u32 no_idle;            /* leave out idle tasks */
	__u32 has_sum;            /* a hit has a value, and a row the sum of its hits' values */
	__u32 n_groups;           /* of pairs: see struct begun_key. 0: hits are not paired */
	__u32 switch_pair;        /* the number of sched_switch's pair */
	struct member_offsets at; /* 0: unknown, only of struct mm_struct */
	__u32 pad;
	__u64 cpus[MAX_CPUS / 64];
};
_Static_assert(sizeof(struct trace_config) == 264 + MAX_CPUS / 8, "abi");
