/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool/unmapped.h - when the run asks BPF programs for the next hit in unmapped code: code without
 * unwind tables yet.
 *
 * A BPF program sends one NOTICE_UNMAPPED, then no more until the run asks for the next one. A new
 * program maps many libraries in a short time, so the run asks often at first. It asks more and
 * more rarely while no process maps a file.
 *
 * Where the kernel can tell programs its mappings, they walk a stack without the published list.
 * That is slower. Yet most such processes end soon, and reading a list takes longer than the
 * programs save by it. So the run reads the list of a process at its second notice. It remembers
 * PASSING_PROCESSES processes, by the low bits of their numbers. If another process takes the place
 * meanwhile, the next notice counts as the first again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

#define PASSING_PROCESSES 256 /* power of two */

/* Times are CLOCK_MONOTONIC, in ns. */
struct unmapped {
	uint64_t busy_until;      /* until then, programs are likely to map more */
	uint64_t ask_at;          /* 0: no question is due */
	uint64_t pause_ns;        /* from a notice to the next question */
	uint64_t ask_unlisted_at; /* as @ask_at, for stacks that were walked without the list */
	uint32_t passing[PASSING_PROCESSES];
};

/* A process has mapped a file: ask often again. Call it before the other functions, too. */
void unmapped_reset(struct unmapped *u);

/* @notice has come. Should the run read the mappings of its process now? */
bool unmapped_note(struct unmapped *u, const struct notice *notice);

/* Ask the programs for the next notice, if it is time to. */
void unmapped_ask(struct unmapped *u, struct trace_state *state);

/* Should the run read records every UNMAPPED_BUSY_MS? */
bool unmapped_is_busy(const struct unmapped *u);

#define UNMAPPED_BUSY_MS 1
