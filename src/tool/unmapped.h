/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/unmapped.h - how often the run hears of hits in code that has no unwind tables yet.
 *
 * A BPF program sends one NOTICE_UNMAPPED and then no more, until it is asked for the next one. A
 * new program maps its libraries in a row, so the run asks often at first. It asks more and more
 * rarely where that was no news.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Times are CLOCK_MONOTONIC, in ns. */
struct unmapped {
	uint64_t busy_until; /* programs are likely to map more until then */
	uint64_t ask_at;     /* 0: the programs have been asked */
	uint64_t pause_ns;   /* before the run asks again */
};

/* Something was mapped: what had no tables may have them now. Call it before the others, too. */
void unmapped_reset(struct unmapped *u);

/* A notice came. */
void unmapped_note(struct unmapped *u);

/* Ask the programs for the next notice, if it is time to. */
void unmapped_ask(struct unmapped *u, struct trace_state *state);

/* Are records to be read every UNMAPPED_BUSY_MS? */
bool unmapped_is_busy(const struct unmapped *u);

#define UNMAPPED_BUSY_MS 1
