/* match/target.h - one place where a probe can be put. The hand-over from match/ to attach/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strtab;

enum target_kind {
	TARGET_KERNEL_FUNCTION,
	TARGET_USER_FUNCTION, /* at the entry of a function: the caller is at the stack pointer */
	TARGET_USDT,          /* in the middle of one */
	TARGET_TRACEPOINT,
};

/* What keeps a probe from a place in a file; known from its instruction (match/verdict.h). */
enum target_obstacle {
	OBSTACLE_NONE,
	OBSTACLE_REFUSED,  /* no probe is taken: at once, or without a word when the file is run */
	OBSTACLE_MISTAKEN, /* one is, and something else than the instruction is executed */
};

/* Strings are lent by the list's strtab. Immutable once listed. */
struct target {
	enum target_kind kind;
	const char *name;     /* for messages: "vfs_read", "malloc", "sched:sched_switch" */
	const char *symbol;   /* functions: the name in the symbol table, with no module suffix */
	const char *module;   /* kernel function: its module, or NULL */
	const char *category; /* tracepoint */
	const char *event;    /* tracepoint */
	const char *path; /* user: the file, openable from here (may begin with /proc/PID/root) */
	uint64_t tracepoint_id; /* tracepoint: perf's number of it */
	uint64_t addr;          /* kernel function: its address, 0 if not known */
	bool is_unchecked;      /* kernel function: of which only the full name is known */
	uint64_t vaddr;         /* user function: its entry, as linked */
	uint64_t offset;        /* user: where in the file the instruction is */
	uint64_t semaphore;     /* USDT: file offset of its reference counter, 0 if it has none */
	uint64_t place;         /* user: file and entry as one number (match/private.h) */
	bool is_distant;        /* user: others may hold up whoever looks at the file */
	enum target_obstacle obstacle;
	uint8_t skipped; /* user function: bytes from its entry to @offset, 0 as a rule */
};

/* What else was asked for, and is the place of a target that is listed already. */
struct target_alias {
	uint32_t target;
	const char *name;
};

/* owned by the run. A zeroed list is empty; match_targets() makes the strtab. */
struct target_list {
	struct target *targets;
	size_t n;
	size_t capacity;
	struct target_alias *aliases; /* in no order; one may be there several times */
	size_t n_aliases, aliases_capacity;
	struct strtab *strings;
};

void target_list_fini(struct target_list *list);
