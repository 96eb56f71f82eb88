/*
 * bpf/abi.h - structures shared by the BPF programs and user space. Both sides include this only
 * definition.
 *
 * A stack is a row of 64-bit words, wherever one is kept: addresses, innermost first, then zeros.
 * If it was cut or may be wrong, one word below STACK_MARK_END comes between them and says why. So
 * such a stack never has the hash of a complete one.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* In a user's stack: not a return address, execution stood there when a signal came. */
#define STACK_WORD_EXACT (1ULL << 63)
/* Likewise: not a mark, though it is as small as one. */
#define STACK_WORD_PLAIN (1ULL << 62)

#define STACK_MAX_FRAMES 1024 /* of a user's stack, which programs walk by themselves */
#define SHORT_MAX_FRAMES 127  /* the deepest that the kernel's own walk gives */
#define STACK_WORDS 1040      /* with room for the mark, in whole pieces */
#define SHORT_WORDS 128
#define CHUNK_WORDS 16
#define CHUNKS_PER_STACK (STACK_WORDS / CHUNK_WORDS)
#define SHORT_CHUNKS (SHORT_WORDS / CHUNK_WORDS)

/* What is done with a hit. */
enum trace_mode {
	MODE_STACKS, /* count it with its stacks */
	MODE_EVENTS, /* write it into a ring, with its stacks */
	MODE_CALLS,  /* count it with its target */
};

/* Why a stack is not whole; and, as bits above that, why frames of it may be wrong. */
enum stack_mark {
	STACK_MARK_NONE,
	STACK_MARK_DEPTH,      /* the kernel's or our depth limit was reached */
	STACK_MARK_UNREADABLE, /* a stack page was not resident */
	STACK_MARK_FAILED,     /* the kernel's walk gave an error */
	STACK_MARK_TORN,       /* pieces of it were deleted while it was stored: user space's */
	STACK_MARK_WALK,       /* and enum unwind_end of bpf/walk.h above it */
	STACK_MARK_UNVERIFIED = 1 << 8, /* frame pointers, without proof that they are some */
	STACK_MARK_32_BIT = 1 << 9,     /* the kernel's walk of a 32-bit program */
	STACK_MARK_END = 1 << 10,
};

#define STACK_MARK_CUT_BITS 0xffU
_Static_assert(STACK_MARK_WALK + 16 <= STACK_MARK_CUT_BITS, "abi");

/* Why a hit could not be counted in its row. */
enum lost_reason {
	LOST_NO_SCRATCH,           /* too many hits nested on one CPU */
	LOST_STACKS_FULL,          /* no room for a new stack's frames */
	LOST_COUNTS_FULL,          /* no room for a new row */
	LOST_NO_MEMORY,            /* the kernel's allocator had none at hand */
	LOST_NOT_FOLLOWED,         /* not hits: new tasks of the command that could not be noted */
	LOST_RING_FULL,            /* no room for a new event */
	LOST_IN_PAUSE,             /* while stacks were being forgotten */
	LOST_AT_REST,              /* while the CPU rests: struct cpu_pace */
	LOST_IN_KERNEL,            /* number of the above */
	OWN_HITS = LOST_IN_KERNEL, /* not lost: left out, see trace_config.own_tgid */
	COUNTED_IN_KERNEL,
};

/*
 * The value of the 'counts' maps. A row that has had HITS_TO_HOT hits is given a counter on
 * each CPU, so that a stack that is hot on several of them does not bounce one line between
 * them: entry hot_index() of the map 'hot'. Its count is then the sum of all of these.
 */
struct stack_row {
	__u64 count;
	__u32 first_low;  /* its first hit: the low bits of ns of CLOCK_MONOTONIC, */
	__u16 first_high; /* which go round in 78 hours */
	__u16 hot;        /* number of its counters, 0: none */
};
_Static_assert(sizeof(struct stack_row) == 16, "abi");

#define HITS_TO_HOT 64
#define MOST_HOT_ROWS 1024

#define ROW_TIME_MASK ((1ULL << 48) - 1)

/* A CPU's counters lie together: no cache line belongs to two CPUs. @hot: from 1. */
static inline __u32 hot_index(__u32 cpu, __u32 generation, __u32 hot, __u32 n_hot_rows)
{
	return (cpu * 2 + generation) * n_hot_rows + hot - 1;
}

/* Key of the 'counts' maps. */
struct stack_key {
	__u64 kernel_stack; /* hash of its words, 0: none */
	__u64 user_stack;   /* likewise */
	__u32 tgid;         /* 0 unless user stacks or processes are told apart */
	__u32 flags;        /* KEY_* */
};
#ifndef __cplusplus
_Static_assert(sizeof(struct stack_key) == 24, "abi");
#endif

/* The first user address is where execution stands, not a return address. */
#define KEY_USER_PC_EXACT 1
/* The same of the first kernel address. */
#define KEY_KERNEL_PC_EXACT 2
/*
 * The bits above, with a tgid: which life of the process the row belongs to. A process begins
 * another life at exec, and a later process of its number has one more. LIFE() is made of the
 * process's entry in the map 'lives', and of how often that was raised. Processes share an entry
 * if the low bits of their numbers outside of all PID namespaces are equal. The entry is needed
 * because numbers within a namespace are reused much sooner.
 *
 * Without a tgid, and with processes told apart: the CPU and 1 for an idle task, since each CPU has
 * its own. 0 for a process outside of our PID namespace.
 */
#define KEY_LIFE_SHIFT 2
#define LIVES 65536 /* entries */
#define LIFE(entry, n_raised) (((n_raised) << 16 | (entry)) & 0x3fffffff)

/* A process in one of its lives, or an idle task, as one number: see KEY_LIFE_SHIFT. */
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
	__u64 since; /* when a program raised it last, ns of CLOCK_MONOTONIC; 0: never */
	__u32 n_raised;
	__u32 rows; /* which ones have been made since: LIFE_NO_ROWS, or ... */
};
_Static_assert(sizeof(struct life_count) == 16, "abi");

/*
 * Rows with user stacks: the number of the one space (struct unwind_space) that user space had told
 * all of their code by; or, for code of several, or of none, LIFE_UNTOLD_ROWS.
 */
#define LIFE_NO_ROWS 0U
#define LIFE_UNTOLD_ROWS 0xffffffffU

/*
 * The 'stacks' maps hold stacks in pieces. The key of one is the stack's hash, whose low bits
 * are free for it, and the number of the piece. The last one ends with a zero at least: so what
 * is missing before is missed.
 */
#define CHUNK_NUMBERS 127ULL
#define STACK_HASH(bits) ((bits) & ~CHUNK_NUMBERS ? (bits) & ~CHUNK_NUMBERS : CHUNK_NUMBERS + 1)

_Static_assert(CHUNKS_PER_STACK <= CHUNK_NUMBERS + 1, "abi");
_Static_assert(STACK_MAX_FRAMES + 1 < STACK_WORDS, "abi"); /* the mark, and a zero */

/* Pieces of the map "spare": enough for a thousand deep stacks without the allocator, 3 MiB. */
#define SPARE_CHUNKS 16384
#define SPARE_TO_NOTICE (SPARE_CHUNKS / 4)

struct stack_chunk {
	__u64 words[CHUNK_WORDS];
};
_Static_assert(sizeof(struct stack_chunk) == 8UL * CHUNK_WORDS, "abi");

/* What is written to the 'wake' ring buffer. */
enum notice_type {
	NOTICE_FILLING,  /* the current generation's maps fill up */
	NOTICE_ENOUGH,   /* --events reached */
	NOTICE_PROCESS,  /* a process was seen for the first time */
	NOTICE_EVENTS,   /* there are events, and the reader sleeps */
	NOTICE_UNMAPPED, /* what a process has mapped is not known, or not all of it */
};

struct notice {
	__u32 type; /* enum notice_type */
	__u32 tgid; /* NOTICE_PROCESS; in the life that KEY_LIFE_SHIFT tells of */
	__u32 life;
	__u32 user;  /* the real one, outside of all user namespaces */
	__u64 time;  /* ns of CLOCK_MONOTONIC */
	__u64 since; /* struct life_count */
	__u64 inode; /* NOTICE_UNMAPPED: the file that the kernel has mapped there; 0: not known */
	__u32 dev;   /* FILE_DEV() */
	__u32 is_walked; /* NOTICE_UNMAPPED: the kernel's own mappings did instead */
	char comm[16];
};
_Static_assert(sizeof(struct notice) == 64, "abi");

/*
 * The rings of MODE_EVENTS: entry @cpu of the map 'rings', and @ring_events entries from
 * cpu * ring_events on of the map 'events'. A program takes event number @head by an atomic
 * addition, takes the time, fills the event in, and writes its number last. So of two events of
 * which one was taken after a moment that the other's time is before, order is known; and what
 * has been taken and has no number yet is being written. User space moves @tail.
 */
struct event_ring {
	__u64 head; /* events taken */
	__u64 pad0[7];
	__u64 tail; /* events read: their places are free */
	__u64 pad1[7];
};
_Static_assert(sizeof(struct event_ring) == 128, "abi");

struct stream_event {
	__u64 number;       /* from 1; written last */
	__u64 time;         /* ns of CLOCK_MONOTONIC */
	__u64 kernel_stack; /* as in struct stack_key */
	__u64 user_stack;
	__u32 tgid;
	__u32 tid;
	__u32 flags;   /* KEY_* */
	__u32 is_lost; /* its stacks could not be kept; counted among the lost */
	char comm[16];
};
_Static_assert(sizeof(struct stream_event) == 64, "abi");

/*
 * Our helper processes, whose hits are left out as those of trace_config.own_tgid. Masks have a bit
 * for each number, so that a hit of any other process costs one look at these. User space hears of
 * a new helper when that may have begun already. So on_birth() notes it before, in one of the last
 * MOST_BORN places.
 */
#define MOST_OWN 16
#define MOST_BORN 4

struct own_processes {
	__u64 mask;
	__u64 born_mask;
	__u32 tgids[MOST_OWN + MOST_BORN]; /* 0: none */
	__u32 warden;                      /* whose children all helpers are; 0: there is none */
	__u32 n_born;
};
_Static_assert(sizeof(struct own_processes) == 104, "abi");

static inline __u64 own_mask_of(__u32 tgid)
{
	return 1ULL << (tgid & 63);
}

/* The value of 'trace_state': written by both sides while tracing. */
#define TURN_OFF 0   /* count nothing */
#define TURN_PAUSE 1 /* MODE_EVENTS: all are lost */
#define FIRST_TURN 2 /* then one more each time that the generation changes */

struct trace_state {
	__u32 turn;        /* count into generation turn % 2 */
	__u32 table_turn;  /* of unwind tables' use: see struct unwind_image */
	__u32 helper_tgid; /* a process of ours for a while, as trace_config.own_tgid; 0: none */
	__u32 pad;
	struct own_processes own;
	__u32 pad0[2]; /* new rows write behind this, every hit reads before it: own cache lines */
	__u64 n_rows[2]; /* rows in each generation */
	__u64 n_hot[2];  /* rows that asked for counters of their own */
	__u64 n_chunks;
	__u64 is_noticed;  /* NOTICE_FILLING was sent */
	__u64 is_asleep;   /* MODE_EVENTS: the reader wants NOTICE_EVENTS */
	__u64 is_unmapped; /* NOTICE_UNMAPPED was sent */
	__u64 is_unlisted; /* the same, with is_walked */
	__u64 n_spare;     /* of @n_chunks those in the map 'spare' */
	__u64 pad1[6];
	__u64 n_hits; /* with a limit only */
	__u64 pad2[15];
	/* With unwind tables: how often places for mappings were found, or all has gone (exec), by
	 * process: reservations_of(). */
	__u64 n_reserved[64];
};
_Static_assert(sizeof(struct trace_state) == 896, "abi");

/* Of process @tgid, and of those that share its number's low bits. */
static inline __u32 reservations_of(__u32 tgid)
{
	return tgid % 64;
}

#define MAX_CPUS 4096

/*
 * The CPU time that some hits take (MODE_STACKS, MODE_EVENTS): those in hardware interrupts, and
 * with trace_config.paces_tasks all hits of kernel events. If they take more than half of a window,
 * the next ones are lost for a while. This rest doubles from window to window. Without it a hit
 * could raise an interrupt whose functions are hit in turn, without end.
 */
struct cpu_pace {
	__u64 since;   /* begin of the window, ns of CLOCK_MONOTONIC */
	__u64 busy_ns; /* since then */
	__u64 rest_until;
	__u64 n_rests; /* in a row */
	/* Since asking bpf_find_vma() raised an interrupt: not again before that time. */
	__u64 ask_after;
	__u64 n_raised; /* how often it did, less how often it did not */
};

#define PACE_WINDOW_NS 20000000ULL
#define MOST_RESTS 6
#define ASK_PAUSE_NS 100000ULL /* doubled each time */
#define MOST_RAISED 13

/* With MODE_CALLS: how a program knows which target was hit. */
enum target_by {
	TARGET_ONLY,       /* there is one */
	TARGET_BY_COOKIE,  /* the attach cookie, Linux 5.15 */
	TARGET_BY_PROGRAM, /* each target has a program of its own, with its number in place of: */
};
#define TARGET_NUMBER 0x7a26e701

/* Where user space writes the BTF ID of the per-CPU variable that has the preempt_count. */
#define PREEMPT_COUNT_ID 0x7a26e702
#define SERVING_SOFTIRQ 0x100 /* its bit, in every kernel (include/linux/preempt.h) */

/*
 * The map 'calls' has a counter for each CPU and target. A CPU's lie together, and begin with a
 * cache line: no line belongs to two CPUs.
 */
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
 * Where the kernel's structures have what tells which file is mapped at an address, and which
 * process a task is of, in bytes from the beginning of each. From the kernel's BTF: they differ
 * between versions.
 */
struct vma_offsets {
	__u32 is_known;
	__u32 vm_flags; /* struct vm_area_struct */
	__u32 vm_ops;
	__u32 vm_pgoff;
	__u32 vm_file;
	__u32 f_inode; /* struct file */
	__u32 i_sb;    /* struct inode */
	__u32 i_ino;
	__u32 i_size;
	__u32 i_mtime; /* its seconds */
	__u32 i_mtime_ns;
	__u32 s_dev; /* struct super_block */
	__u32 tgid;  /* struct task_struct */
	__u32 mm;
	__u32 end_code; /* struct mm_struct; 0: not asked for. See has_program() */
};
_Static_assert(sizeof(struct vma_offsets) == 60, "abi");

/* Set once, before the programs are loaded; what is zero is pruned by the verifier. */
struct trace_config {
	__u64 hash_seed[2];   /* random, odd */
	__u64 max_events;     /* 0: no limit */
	__u64 rows_to_notice; /* rows in a generation from which on that is told */
	__u64 chunks_to_notice;
	__u64 max_chunks;
	__u64 pidns_dev; /* with @has_pidns: our PID namespace */
	__u64 pidns_ino;
	__u32 max_kernel_frames; /* 0: no kernel stacks */
	__u32 max_user_frames;   /* 0: no user stacks */
	__u32 kernel_limit;      /* a walk of this many frames was cut by the kernel */
	__u32 tgid;              /* count this process only, 0: any */
	__u32 has_tgids;         /* count those in the map 'tgids' only */
	__u32 has_cpus;          /* count on CPUs in @cpus only */
	__u32 has_pidns;         /* we are not in the initial PID namespace */
	__u32 per_process;       /* rows are told apart by process even without user stacks */
	__u32 follow;            /* count the command's process tree only (map 'tasks') */
	__u32 command_tgid;      /* with @follow: the command, in our PID namespace */
	__u32 fork_child_offset; /* byte offset of pid in task_newtask's record */
	__u32 exec_old_offset;   /* byte offset of old_pid in sched_process_exec's record */
	__u32 has_task_regs;     /* bpf_task_pt_regs() exists: user stacks are walked here */
	__u32 n_hot_rows;        /* of a generation: rows with counters for each CPU */
	__u32 mode;              /* enum trace_mode */
	__u32 ring_events;       /* MODE_EVENTS: places in each CPU's ring, a power of two */
	__u32 target_by;         /* MODE_CALLS: enum target_by */
	__u32 calls_per_cpu;     /* MODE_CALLS: calls_per_cpu() */
	__u32 has_lives;         /* the map 'lives' is kept: user stacks are told apart by them */
	__u32 unwind;            /* user stacks are walked by tables (bpf/tables.h) */
	__u32 has_loop;          /* bpf_loop() exists */
	__u32 asks_kernel;       /* with @unwind: bpf_find_vma() finds mappings */
	__u32 asks_with_care; /* tracepoints: a hit may raise the next interrupt. See may_ask() */
	__u32 anywhere; /* hits may stand where interrupts are off, or a thread has no memory */
	__u32 never;    /* 0 */
	__u32 no_recent_rules; /* look up each frame's rule, to measure the gain of recent rules */
	__u32 own_tgid;        /* leave out hits of this process, our own; 0: leave out none */
	__u32 paces_tasks;     /* struct cpu_pace is for hits of tasks, too */
	__u32 hardirq_mask;    /* bits of the kernel's preempt_count; 0: it cannot be read */
	__u32 nmi_mask;
	__u32 preempt_offset;   /* bytes from the per-CPU variable's beginning to the count */
	struct vma_offsets vma; /* offsets of the kernel's members that we read */
	__u64 cpus[MAX_CPUS / 64];
};
_Static_assert(sizeof(struct trace_config) == 72 + 112 + 60 + 4 + MAX_CPUS / 8, "abi");
