/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bpf/unused_code.h - remove instructions that only set registers which nothing reads. */
#pragma once

#include "bpf/program_code.h"

/* Helpers and functions count as readers of all their argument registers. */
void unused_code_remove(struct program_code *code);
