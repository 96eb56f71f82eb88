/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report/report.h - merge stacks with their counts, and sort them for rendering. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/frame.h"

struct report;

/* A stack with its count. Frame numbers are innermost first, kernel frames before user frames. */
struct report_entry {
	uint64_t count;
	const uint32_t *frames; /* @n_kernel, then @n_user of them. Lent by the report */
	uint32_t n_kernel;
	uint32_t n_user;
	uint32_t pid;     /* 0 unless per process; 0 with @comm: per name of processes */
	const char *comm; /* NULL unless per process, or not known. Lent by the caller */
};

struct report *report_new(void);
void report_free(struct report *r);
void report_freep(struct report **r);

/*
 * Add @entry's count to the entry with equal frames, pid and comm, or append a new entry. With a
 * pid, a comm that is NULL equals any. Copies the frames; keeps @entry->comm while the report
 * lives.
 */
void report_add(struct report *r, const struct report_entry *entry);

/*
 * Sort entries, least frequent first, equal counts in the order of adding. Hide those
 * with a count below @min and, if @top is not 0, all but the @top most frequent. No
 * report_add() may follow.
 */
void report_finish(struct report *r, uint64_t min, size_t top);

size_t report_n(const struct report *r);
const struct report_entry *report_entry_at(const struct report *r, size_t i);
/* The sum of all counts, those of hidden entries included. */
uint64_t report_total(const struct report *r);
/* The sum of the counts of hidden entries. *@n_entries (may be NULL) is their number. */
uint64_t report_hidden(const struct report *r, size_t *n_entries);

/* Bytes of memory that the report holds. */
size_t report_bytes(const struct report *r);
