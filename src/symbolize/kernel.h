/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize/kernel.h - names of kernel addresses at the time of the hit, because modules and BPF
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

/* Code that the kernel made at run time, and no BPF program. Only kallsyms lists it. */
struct trampoline {
	uint64_t addr, name; /* @name: hash of its name */
	uint64_t since;      /* when kallsyms first listed it, ns of CLOCK_MONOTONIC */
};

struct kernel_names {
	struct host *host;
	const struct kallsyms *symbols; /* the host's or @own; NULL: not read, or not readable */
	struct kallsyms *own;           /* a newer reading, after the host's became old */
	struct modules modules;
	struct bpf_programs *programs;
	struct trampoline *trampolines;
	size_t n_trampolines;
	bool is_read;
	bool is_checked; /* looked for changes since the last refresh */
	bool is_reread;  /* read kallsyms again since the last refresh */
	char *trouble;   /* why there are no names; NULL: there are */
};

/*
 * @host is borrowed. Notes the modules that are loaded now, to see later changes. @has_stacks: the
 * run has kernel stacks.
 */
void kernel_names_init(struct kernel_names *k, struct host *host, bool has_stacks);
void kernel_names_fini(struct kernel_names *k);
void kernel_names_refresh(struct kernel_names *k);

/*
 * Read symbols that are new or have changed. Call it before look-ups. True: earlier answers may be
 * wrong now.
 */
bool kernel_names_update(struct kernel_names *k);

/* Times of the first and last hit of an address; ns of CLOCK_MONOTONIC, not later than now. */
struct kernel_time {
	uint64_t first, last;
};

struct kernel_answer {
	bool is_found;
	struct kernel_symbol symbol; /* with @is_found; lent until the next question */
	bool is_changed;             /* earlier answers may be wrong, as kernel_names_update() */
	bool is_lasting;             /* the answer is the same at any time */
	uint64_t from, until;        /* else it is the same for hits in this time */
};

/*
 * The function that was at @addr for all of @when. If there is none, reads the symbols once more,
 * at most once per refresh.
 */
void kernel_names_at(struct kernel_names *k, uint64_t addr, const struct kernel_time *when,
		     struct kernel_answer *ret);
