/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach/features.h - features of this kernel, found by trying each one, not by its version. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct features {
	uint32_t kprobe_pmu;    /* type of perf's kprobes, 0: the kernel has none */
	uint32_t uprobe_pmu;    /* likewise */
	const char *no_events;  /* why this user may open no perf events; NULL: this user may */
	const char *no_uprobes; /* likewise for perf's uprobes */
	const char *no_kprobes; /* likewise for perf's kprobes */
	bool refuses_namesakes; /* a kprobe by a name of several functions fails, Linux 6.7 */
	bool kprobe_multi;      /* Linux 5.18 with CONFIG_FPROBE */
	bool counts_missed;     /* links tell how many hits the kernel missed, Linux 6.7 */
	bool uprobe_multi;      /* Linux 6.6, with the PID filter by process (46ba0e49b642) */
};

enum feature_group {
	FEATURES_KERNEL_FUNCTION = 1,
	FEATURES_USER = 2,
	FEATURES_KERNEL_RETURN = 4,
	FEATURES_ALL = 7,
};

/*
 * May this user, who has the capabilities, call bpf(2) at all? Errors: -EPERM or another code with
 * which the kernel refuses. The message names the likely cause.
 */
must_check int features_check_bpf(struct error *e);

/*
 * Has this kernel what the tool cannot do without? Errors: -EOPNOTSUPP; the message names the first
 * thing that is missing.
 */
must_check int features_require(struct error *e);

/*
 * Try the features of @groups, an OR of enum feature_group; each costs some system calls. The
 * caller fills in the PMUs, no_* and refuses_namesakes.
 */
void features_probe(struct features *features, unsigned groups);

/*
 * May programs read 4 bytes at @offset of the kernel's per-CPU variable with this BTF ID? The
 * kernel must know the variable's address, too: CONFIG_KALLSYMS_ALL.
 */
bool features_has_variable(uint32_t btf_id, uint32_t offset);

/* May programs call bpf_rdonly_cast(), whose BTF ID is @call, with a structure's ID @type? */
bool features_has_cast(uint32_t call, uint32_t type);
