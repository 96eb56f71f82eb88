/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes/sideband_ring.h - the records of one CPU's ring, and several rings as one stream. */
#pragma once

#include <linux/perf_event.h>

#include "processes/sideband.h"

/* A record's size is a 16-bit number. */
#define MAX_RECORD_BYTES 65536

#define MAX_BUILD_ID 20

/* The end of each record (sample_id_all with PERF_SAMPLE_TIME and PERF_SAMPLE_IDENTIFIER). */
struct record_trailer {
	uint64_t time;
	uint64_t event; /* the perf event that wrote it */
};

enum record_meaning {
	RECORD_EVENT,
	RECORD_BUILD_ID,  /* the build ID of the mapping in the next MMAP2 record of the ring */
	RECORD_OTHER,     /* to be skipped */
	RECORD_MALFORMED, /* no kernel writes such a record */
};

/*
 * Parse a whole record of @n bytes, with its trailer. @n is the header's size, a multiple of 8.
 * Strings in @ret point into @record, and parsing may change its bytes. @build_id_event is the id
 * of the event with attr.build_id, or 0.
 */
enum record_meaning sideband_parse(uint8_t *record, size_t n, uint64_t build_id_event,
				   struct process_event *ret);

struct sideband_ring {
	struct perf_event_mmap_page *page; /* borrowed; the data follows it */
	uint64_t build_id_event;           /* as for sideband_parse() */
	uint64_t tail, head;
	uint64_t next; /* time of the record at @tail; UINT64_MAX: there is none */
	uint64_t last; /* time of the record before @tail */

	/* The last build ID, if no mapping has come since. The next record may be its mapping. */
	struct process_event noted;
	uint8_t noted_id[MAX_BUILD_ID];
};

/* Read the kernel's head: records up to there can be taken. */
void sideband_ring_look(struct sideband_ring *ring);

/*
 * Take the record at @tail, which must be there. False: it is of no interest. @ret is valid until
 * @buffer (MAX_RECORD_BYTES) or @ring is used again. A malformed record becomes a PROCESS_LOST.
 */
bool sideband_ring_take(struct sideband_ring *ring, uint8_t *buffer, struct process_event *ret);

/* Give up all records up to the kernel's head. Returns their number. */
uint64_t sideband_ring_drop(struct sideband_ring *ring);
