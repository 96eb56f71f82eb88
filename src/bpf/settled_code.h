/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/settled_code.h - the code of a program that a run's settings leave to be loaded. */
#pragma once

#include <stddef.h>

#include "bpf/program_code.h"
#include "bpf/value_code.h"

struct bpf_map;

/* The settings (struct trace_config) lie at byte @at of @map, which libbpf has filled. */
struct settings_map {
	const struct bpf_map *map;
	size_t at;
	const struct value_code *value; /* lent; NULL: hits have no value */
};

/* Remove the code that the settings make unreachable, and insert the code of the value. */
void settled_code_keep(const struct settings_map *settings, struct program_code *code);

/* Have programs read the user's memory by the helper that lockdown allows. */
void settled_code_put_helper_back(struct bpf_insn *insns, size_t n);
