/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * match/target.h - a target is one place where a probe can be put. match/ hands targets to attach/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strtab;

enum target_kind {
	TARGET_KERNEL_FUNCTION,
	TARGET_USER_FUNCTION, /* at a function's entry: the frame is as the call left it */
	TARGET_USDT,          /* in the middle of a function */
	TARGET_TRACEPOINT,
	TARGET_KERNEL_RETURN, /* of a kernel function, to its caller */
	TARGET_USER_RETURN,   /* at an exit of a function: the frame is as at its entry */
	TARGET_PERF_EVENT,
};

/* With --elapsed, an event begins and another one ends it. */
enum target_role {
	ROLE_HIT, /* it is counted by itself */
	ROLE_BEGIN,
	ROLE_END,
	ROLE_SWITCH, /* sched_switch is both: it ends what the next thread has begun */
};

/* Why a place in a file cannot have a probe. Its instruction tells (arch_uprobe_verdict()). */
enum target_obstacle {
	OBSTACLE_NONE,
	OBSTACLE_REFUSED,    /* the kernel refuses the probe now, or silently at run time */
	OBSTACLE_MISTAKEN,   /* the kernel takes the probe, and executes another instruction */
	OBSTACLE_OVERWRITES, /* ... and writes over the function's variables */
};

/* The list's strtab lends the strings. Immutable once listed. */
struct target {
	enum target_kind kind;
	const char *name;     /* for messages: "vfs_read", "malloc", "sched:sched_switch" */
	const char *symbol;   /* functions: the name in the symbol table, without module suffix */
	const char *module;   /* kernel function: its module, or NULL */
	const char *category; /* tracepoint */
	const char *event;    /* tracepoint */
	const char *path;     /* user: the file, as this process can open it (/proc/PID/root/...) */
	uint64_t tracepoint_id; /* tracepoint: perf's number for it */
	uint64_t addr;          /* kernel function: its address; 0: unknown */
	bool is_unchecked;      /* kernel function: only the full name is known */
	uint64_t vaddr;         /* user function: its entry, as linked */
	uint64_t offset;        /* user: the instruction's place in the file */
	const char *arguments;  /* USDT: see match/values.h */
	uint64_t semaphore;     /* USDT: file offset of its reference counter; 0: none */
	/*
	 * All that tells places apart, as one number: the exits of a function share it. Two places
	 * have the same number once in 2^64 pairs. One of them is left out then.
	 */
	uint64_t place;
	enum target_obstacle obstacle;
	uint32_t perf_type; /* perf event: as in struct perf_event_attr */
	uint64_t perf_config;
	bool exclude_user, exclude_kernel;
	bool is_jump;     /* user return: to another function, which will return in its place */
	bool is_32_bit;   /* user: its code is 32-bit code */
	uint8_t role;     /* enum target_role, set by patterns.c */
	uint32_t pattern; /* of the kernel: the number of the pattern that it matched first */
};

static inline bool target_is_kernel_function(const struct target *t)
{
	return t->kind == TARGET_KERNEL_FUNCTION || t->kind == TARGET_KERNEL_RETURN;
}

/* Is @t a further exit of the function of @before, the target before it in the list? */
static inline bool target_is_further_exit(const struct target *before, const struct target *t)
{
	return t->kind == TARGET_USER_RETURN && before->kind == t->kind &&
	       before->place == t->place;
}

/* The run owns it. A zeroed list is empty; match_targets() makes the strtab. */
struct target_list {
	struct target *targets;
	size_t n;
	size_t capacity;
	struct strtab *strings;
};

void target_list_fini(struct target_list *list);

/* --- names --- */

/*
 * The names of targets in a list of targets (target_names.c).
 *
 *	vfs_read                     a kernel function
 *	free [libc.so.6]             a name in several files or modules
 *	m_start [0xffffffff812a4b70] a name that one file or module has more than once
 *	sched:sched_switch           a tracepoint
 *	libc:memory_sbrk_more        a USDT probe: all its places in a file are one
 *
 * A zeroed one is empty.
 */
struct target_names {
	const char **names; /* of each row, all different */
	size_t n;
	uint32_t *rows; /* of each target: the row that counts it */
	struct strtab *strings;
};

void target_names_make(const struct target_list *targets, struct target_names *ret);
void target_names_fini(struct target_names *t);
