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

struct kernel_names {
	struct host *host;
	const struct kallsyms *first;   /* the host's; NULL: not read, or not readable */
	const struct kallsyms *symbols; /* @first or @own */
	struct kallsyms *own;           /* a newer reading, after the host's became old */
	struct modules modules;
	struct bpf_programs programs;
	bool is_read;
	bool is_checked; /* looked for changes since the last refresh */
	bool is_reread;  /* read kallsyms again since the last refresh */
	char *trouble;   /* why there are no names; NULL: there are */
};

/* @host is borrowed. Notes the modules that are loaded now, to see later changes. */
void kernel_names_init(struct kernel_names *k, struct host *host);
void kernel_names_fini(struct kernel_names *k);
void kernel_names_refresh(struct kernel_names *k);

/* Read symbols that are new or have changed. Call it before look-ups. */
void kernel_names_update(struct kernel_names *k);

struct kernel_answer {
	bool is_found;
	struct kernel_symbol symbol; /* with @is_found; lent until the next question */
	bool is_lasting;             /* the answer is the same at any time */
	uint64_t from, until;        /* else it is the same for hits in this time */
};

/*
 * The function that was at @addr from @time (ns of CLOCK_MONOTONIC) on. If there is none, reads the
 * symbols once more, at most once per refresh.
 */
void kernel_names_at(struct kernel_names *k, uint64_t addr, uint64_t time,
		     struct kernel_answer *ret);
