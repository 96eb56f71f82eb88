/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/unmapped.h - how often the run hears of hits in code that has no unwind tables yet.
 *
 * A BPF program sends one NOTICE_UNMAPPED and then no more, until it is asked for the next one. A
 * new program maps its libraries in a row, so the run asks often at first. It asks more and more
 * rarely where that was no news.
 *
 * The programs may be able to walk a stack without the list of the process: then the kernel tells
 * them its mappings, which takes longer. Most such processes end soon, and to read a list takes
 * longer than the programs save by it. So it is read at the second notice. A process that took the
 * same place among the last PASSING_PROCESSES puts that off.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

#define PASSING_PROCESSES 256 /* power of two */

/* Times are CLOCK_MONOTONIC, in ns. */
struct unmapped {
	uint64_t busy_until;      /* programs are likely to map more until then */
	uint64_t ask_at;          /* 0: the programs have been asked */
	uint64_t pause_ns;        /* before the run asks again */
	uint64_t ask_unlisted_at; /* the same where stacks could be walked all the same */
	uint32_t passing[PASSING_PROCESSES];
};

/* Something was mapped: what had no tables may have them now. Call it before the others, too. */
void unmapped_reset(struct unmapped *u);

/* @notice came. Is the list of its process to be read now? */
bool unmapped_note(struct unmapped *u, const struct notice *notice);

/* Ask the programs for the next notice, if it is time to. */
void unmapped_ask(struct unmapped *u, struct trace_state *state);

/* Are records to be read every UNMAPPED_BUSY_MS? */
bool unmapped_is_busy(const struct unmapped *u);

#define UNMAPPED_BUSY_MS 1
