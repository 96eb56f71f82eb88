/*
 * symbolize/kernel.h - names of kernel addresses, at the time when they were hit: modules and BPF
 * programs come and go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/bpf_programs.h"
#include "kernel/host.h"
#include "kernel/kallsyms.h"
#include "kernel/modules.h"

/* Made at run time, and not a program: kallsyms alone tells of it. */
struct trampoline {
	uint64_t addr, name; /* its hash */
	uint64_t since;      /* ns: when it was seen first */
};

struct kernel_names {
	struct host *host;
	const struct kallsyms *symbols; /* the host's or @own; NULL: not read, or not readable */
	struct kallsyms *own;           /* read after the host's turned out to be old */
	struct modules modules;
	struct bpf_programs *programs;
	struct trampoline *trampolines;
	size_t n_trampolines;
	bool is_read;
	bool is_checked; /* for changes, since the last refresh */
	bool is_reread;  /* since the last refresh */
	char *trouble;   /* why there are no names */
};

/* @host is kept. What may change later is looked at now. */
void kernel_names_init(struct kernel_names *k, struct host *host);
void kernel_names_fini(struct kernel_names *k);
void kernel_names_refresh(struct kernel_names *k);

/*
 * Read what was not read yet or has changed; true when addresses that were looked
 * up before may have other names now. To be called before look-ups.
 */
bool kernel_names_update(struct kernel_names *k);

/* From when to when what was asked for was hit; ns of CLOCK_MONOTONIC, not later than now. */
struct kernel_time {
	uint64_t first, last;
};

struct kernel_answer {
	bool is_found;
	struct kernel_symbol symbol; /* with @is_found; lent until the next question */
	bool is_changed;             /* what kernel_names_update() says, once more */
	bool is_lasting;             /* the same at any time */
	uint64_t from, until;        /* if not: the same for hits in this time */
};

/*
 * What was the function at @addr all the time in @when? Where there is none the symbols are read
 * once more, at most once per refresh.
 */
void kernel_names_at(struct kernel_names *k, uint64_t addr, const struct kernel_time *when,
		     struct kernel_answer *ret);
