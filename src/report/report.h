/* report/report.h - stacks and counts, merged, ordered, ready to be rendered. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/frame.h"

struct report;

/* One entry. Frame numbers are innermost first; kernel frames stand before user frames. */
struct report_entry {
	uint64_t count;
	const uint32_t *frames; /* @n_kernel, then @n_user of them. Lent by the report */
	uint32_t n_kernel;
	uint32_t n_user;
	uint32_t pid;     /* 0 unless per process; 0 with @comm: per name of processes */
	const char *comm; /* NULL unless per process; lent by who added it */
};

struct report *report_new(void);
void report_free(struct report *r);
void report_freep(struct report **r);

/*
 * Add @entry's count to the entry with equal frames, pid and comm, made where absent. A process's
 * comm that is NULL is any of its. Frames are copied.
 */
void report_add(struct report *r, const struct report_entry *entry);

/*
 * Order least frequent first (equal counts: by the order in which they were added),
 * and leave out what counts less than @min and, if @top is not 0, all but the @top
 * most frequent.
 */
void report_finish(struct report *r, uint64_t min, size_t top);

size_t report_n(const struct report *r);
const struct report_entry *report_entry_at(const struct report *r, size_t i);
uint64_t report_total(const struct report *r);                     /* of all that was added */
uint64_t report_hidden(const struct report *r, size_t *n_entries); /* of what finish left out */

/* Bytes of memory held. */
size_t report_bytes(const struct report *r);
