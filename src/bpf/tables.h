/*
 * bpf/tables.h - where the programs find what they walk by (bpf/walk.h says what it means).
 *
 *	process -> space -> mapping at an address -> table of its image -> rule
 *	           the kernel's own mapping -> file ---^
 *
 * The second way is dearer, and serves what user space has not looked at yet: processes that have
 * just begun, and libraries that have just been loaded.
 *
 * All but the spaces lies in one memory of slabs, written by user space, read by the programs.
 * What is found in it by a place that somebody else wrote is only ever a wrong rule: places are
 * bounded, and each use checks what it reads.
 */
#pragma once

#include "bpf/abi.h"
#include "bpf/walk.h"

/* A place is a number of bytes from the first slab's beginning. */
#define TABLE_CHUNK_BYTES 4096U
#define SLAB_CHUNKS 1024U /* of one slab: 4 MiB */
#define SLAB_BYTES 0x400000U
#define MOST_SLABS 256U
_Static_assert(SLAB_BYTES == SLAB_CHUNKS * TABLE_CHUNK_BYTES, "abi");

struct table_chunk {
	__u64 words[TABLE_CHUNK_BYTES / 8];
};

/* What a process has mapped: an entry of the map 'spaces', by its number in our PID namespace. */
struct unwind_space {
	__u32 mappings; /* place of @n struct unwind_mapping, by rising address, none overlapping */
	__u32 n;
	__u32 number; /* another one whenever anything is different; not 0 */
	__u32 unsure; /* 0, or space_unsure(): not what is mapped, if more was reserved since */
};
_Static_assert(sizeof(struct unwind_space) == 16, "abi");

/*
 * User space says what was mapped a moment ago. From then on the programs take a space away where
 * something else comes to a place in it; what came before is to be seen in trace_state.n_reserved,
 * @n_reserved of which had been counted before user space looked.
 */
static inline __u32 space_unsure(__u64 n_reserved)
{
	return (__u32)n_reserved | 1U << 31;
}

#define MOST_SPACES 32768
#define MOST_MAPPINGS 65536
#define MAPPING_STEPS 17     /* to find one among so many */
#define CHUNK_ENTRIES 1024U  /* of a table, in a chunk */
#define CHUNK_ENTRY_STEPS 11 /* to find one among those */
#define PAGE_CHUNK_STEPS 7   /* to find the chunk, among those that a page's entries lie in */

/* What a binary search is among: entry @low, and @n - 1 behind it. */
struct search {
	__u64 low;
	__u64 n;
};

/*
 * Entry @middle of them begins at @start, and what is looked for is at @addr, both less than 2^63.
 * Without a branch: for the verifier, each would double the ways through the rest of the search.
 */
static __always_inline void search_step(struct search *s, __u64 middle, __u64 start, __u64 addr)
{
	const __u64 before = middle - s->low;
	__u64 is_behind = (__s64)(start - addr - 1) >> 63; /* all ones, or none */

	__asm__("" : "+r"(is_behind)); /* else compilers make one of it */
	s->n = before + ((s->n - 2 * before - 1) & is_behind);
	s->low += (before + 1) & is_behind;
}

/* Where the middle one begins of the chunks that hold them; 0: they are in one chunk. */
static __always_inline __u64 search_middle_chunk(const struct search *s)
{
	const __u64 n_before = s->low % CHUNK_ENTRIES;
	const __u64 n_chunks = (n_before + s->n + CHUNK_ENTRIES - 1) / CHUNK_ENTRIES;

	return n_chunks < 2 ? 0 : s->low - n_before + n_chunks / 2 * CHUNK_ENTRIES;
}

enum unwind_how {
	UNWIND_BY_TABLE,
	UNWIND_BY_FRAME_POINTERS, /* a file without unwind tables: checked steps */
	UNWIND_MADE_CODE, /* no file, or no ELF file: a JIT compiler's; see UNWIND_MADE_FRAMES */
	UNWIND_NOT_YET,   /* its table is being made */
	UNWIND_NOT_AT_ALL,
	UNWIND_PROBED, /* UNWIND_END_PROBED */
};

struct unwind_mapping {
	__u64 start;
	__u64 end;   /* exclusive */
	__u64 bias;  /* address - vaddr in its image */
	__u32 image; /* place of its struct unwind_image */
	__u32 how;   /* enum unwind_how */
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "abi"); /* never across chunks */

/*
 * @turn is trace_state.table_turn when it was last looked into: each program writes that which
 * finds another one there. Recent rules are of one turn, so that what is in use is looked into now
 * and then.
 */
struct unwind_image {
	__u64 base;    /* vaddr of the first page */
	__u32 n_pages; /* 0: its table was given up */
	__u32 n_rules;
	__u32 pages;   /* place of n_pages + 1 numbers of entries, 4 bytes each */
	__u32 entries; /* place of struct unwind_entry */
	__u32 rules;   /* place of struct unwind_rule */
	__u32 turn;
};
_Static_assert(sizeof(struct unwind_image) == 32, "abi");

/* What is known of a file's code, by where in it a mapping begins: an entry of the map 'files'. */
struct unwind_file_key {
	__u64 inode;
	__u64 offset;  /* bytes */
	__u64 size;    /* bytes */
	__u64 changed; /* its contents, last: seconds */
	__u32 changed_ns;
	__u32 dev; /* FILE_DEV() */
};
_Static_assert(sizeof(struct unwind_file_key) == 40, "abi");

/* The kernel's own dev_t (include/linux/kdev_t.h). */
#define FILE_DEV(major, minor) ((__u32)(major) << 20 | (__u32)(minor))

struct unwind_file {
	__u64 bias;  /* of a mapping at address 0 */
	__u32 image; /* place of its struct unwind_image */
	__u32 how;   /* enum unwind_how */
};
_Static_assert(sizeof(struct unwind_file) == 16, "abi");

#define MOST_FILES 32768

/*
 * What a process runs, noted at the page faults by which it got there: for where the kernel cannot
 * be asked. An entry of the map 'faulted', by the low bits of the process's number outside of all
 * PID namespaces. Nobody waits for anybody: a mapping is one of @life, or it is none.
 */
#define FAULTED_LISTS 1024
#define MOST_FAULTED 16 /* mappings; the oldest ones go */

struct faulted_mapping {
	__u64 life;   /* of its list, when the kernel was asked; 0: it is being written */
	__u64 number; /* another one each time that it is written */
	__u64 start;
	__u64 end; /* exclusive */
	struct unwind_file_key key;
};

struct faulted_list {
	__u64 pid;
	__u64 life; /* ns of CLOCK_MONOTONIC when all was forgotten last */
	__u64 n;    /* mappings that have been noted */
	struct faulted_mapping mappings[MOST_FAULTED];
};
_Static_assert(sizeof(struct faulted_list) == 24 + MOST_FAULTED * 72, "abi");

/*
 * Rules that were found lately: a stack's return addresses come again and again. Those of all CPUs
 * lie together, in sets of one cache line, the last one first. Nobody waits for anybody: what two
 * programs have mixed up is no entry, since each is checked against its rule.
 */
#define RECENT_SET_BITS 13
#define RECENT_SETS (1U << RECENT_SET_BITS)
#define RECENT_WAYS 4

struct recent_rule {
	__u64 check; /* the address XOR struct scratch_slot's space_key, XOR check_of() the rule */
	__u64 rule;  /* struct unwind_rule */
};

struct recent_set {
	struct recent_rule ways[RECENT_WAYS];
};
_Static_assert(sizeof(struct recent_set) == 64, "abi");
