/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel/ksymbols.h - when did the BPF function at an address come? perf reports that a function
 * comes, before anything can run it, and that it goes (PERF_RECORD_KSYMBOL, since Linux 5.1).
 */
#pragma once

#include <stdint.h>

struct ksymbols;

/* Take records from now on. Never NULL: where they are not to be had, no time is known. */
struct ksymbols *ksymbols_open(void);
void ksymbols_free(struct ksymbols *k);

/* Take the records so far. */
void ksymbols_read(struct ksymbols *k);

/*
 * When the function at @start came, in ns of CLOCK_MONOTONIC, by the records that were read. 0: no
 * record has it, or records are missing.
 */
uint64_t ksymbols_since(const struct ksymbols *k, uint64_t start);
