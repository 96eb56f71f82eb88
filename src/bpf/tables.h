/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf/tables.h - the data by which programs walk user stacks. bpf/user_step.h says what rules mean.
 *
 *	process -> space -> mapping at an address -> table of its image -> rule
 *	           the kernel's own mapping -> file ---^
 *
 * The second way costs more. It serves processes that have just begun and libraries that were just
 * loaded, whose mappings user space has not read yet.
 *
 * Spaces and files are entries of hash maps. All else lies in slabs, which user space writes and
 * programs read. A wrong place in them can only give a wrong rule: places are bounded, and each use
 * checks what it reads.
 */
#pragma once

#include "bpf/abi.h"
#include "bpf/user_step.h"

/* A place is a number of bytes, counted from the first slab's beginning. */
#define TABLE_CHUNK_BYTES 4096U
#define SLAB_CHUNKS 1024U /* of one slab: 4 MiB */
#define SLAB_BYTES 0x400000U
#define MOST_SLABS 256U
_Static_assert(SLAB_BYTES == SLAB_CHUNKS * TABLE_CHUNK_BYTES, "abi");

struct table_chunk {
	__u64 words[TABLE_CHUNK_BYTES / 8];
};

/*
 * The published mappings of a process: an entry of the map 'spaces'. Key: the process's number in
 * our PID namespace. Programs withdraw it if a mapping takes a place in it. But user space has read
 * the mappings before, so it publishes them with number 0, by which no program walks. Then it reads
 * them again. If they are the same, they get their number.
 */
struct unwind_space {
	__u32 mappings; /* place of @n struct unwind_mapping, sorted, without overlap */
	__u32 n;
	__u32 number; /* changes with each change of the mappings; 0: not checked yet */
};
_Static_assert(sizeof(struct unwind_space) == 12, "abi");

#define MOST_SPACES 32768
#define MOST_MAPPINGS 65536
#define MAPPING_STEPS 17     /* to find one of MOST_MAPPINGS */
#define CHUNK_ENTRIES 1024U  /* entries of a table in a chunk */
#define CHUNK_ENTRY_STEPS 11 /* to find one of CHUNK_ENTRIES */
#define PAGE_CHUNK_STEPS 7   /* to find the chunk, among those with a page's entries */

/* The first entry of the middle one of the chunks that the range spans. 0: it lies in one chunk. */
static __always_inline __u64 search_middle_chunk(const struct unwind_search *s)
{
	const __u64 n_before = s->low % CHUNK_ENTRIES;
	const __u64 n_chunks = (n_before + s->n + CHUNK_ENTRIES - 1) / CHUNK_ENTRIES;

	return n_chunks < 2 ? 0 : s->low - n_before + n_chunks / 2 * CHUNK_ENTRIES;
}

enum unwind_how {
	UNWIND_BY_TABLE,
	UNWIND_BY_FRAME_POINTERS, /* a file without unwind tables: walk by checked steps */
	UNWIND_MADE_CODE,         /* in no file, or in no ELF file: see UNWIND_MADE_FRAMES */
	UNWIND_NOT_YET,           /* its table is being made */
	UNWIND_NOT_AT_ALL,
	UNWIND_PROBED, /* the code of return probes: UNWIND_END_PROBED */
};

struct unwind_mapping {
	__u64 start;
	__u64 end;   /* exclusive */
	__u64 bias;  /* address minus vaddr in the image */
	__u32 image; /* place of its struct unwind_image */
	__u32 how;   /* enum unwind_how */
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "abi"); /* never spans two chunks */

/*
 * An image in a slab. @turn is trace_state.table_turn at the last look-up in the table; programs
 * update it if it differs. Recent rules are valid in one turn only, so a table in use is looked up
 * now and then.
 */
struct unwind_image {
	__u64 base;    /* vaddr of the first page */
	__u32 n_pages; /* 0: its table was given up */
	__u32 n_rules;
	__u32 pages;   /* place of n_pages + 1 numbers of entries, 4 bytes each */
	__u32 entries; /* place of the struct unwind_entry */
	__u32 rules;   /* place of the struct unwind_rule */
	__u32 turn;
};
_Static_assert(sizeof(struct unwind_image) == 32, "abi");

/* Key of the map 'files'. The entry says how to walk the file's code. */
struct unwind_file_key {
	__u64 inode;
	__u64 size;    /* bytes */
	__u64 changed; /* last change of the contents, seconds */
	__u32 changed_ns;
	__u32 dev; /* FILE_DEV() */
};
_Static_assert(sizeof(struct unwind_file_key) == 32, "abi");

/* As the kernel's own dev_t (include/linux/kdev_t.h). */
#define FILE_DEV(major, minor) ((__u32)(major) << 20 | (__u32)(minor))

struct unwind_file {
	__u64 bias;  /* place in the file minus vaddr, the same for all code */
	__u32 image; /* place of its struct unwind_image */
	__u32 how;   /* enum unwind_how */
};
_Static_assert(sizeof(struct unwind_file) == 16, "abi");

#define MOST_FILES 16384

/*
 * Rules that were found lately, in sets of one cache line, the newest first. All CPUs share them
 * without a lock: an entry that two programs have mixed up matches no key.
 */
#define RECENT_SET_BITS 13
#define RECENT_SETS (1U << RECENT_SET_BITS)
#define RECENT_WAYS 4

struct recent_rule {
	__u64 check; /* address ^ scratch_slot.space_key ^ check_of_rule(rule) */
	__u64 rule;  /* struct unwind_rule */
};

struct recent_set {
	struct recent_rule ways[RECENT_WAYS];
};
_Static_assert(sizeof(struct recent_set) == 64, "abi");
