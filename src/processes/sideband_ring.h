/* processes/sideband_ring.h - the records of one CPU's ring, and several rings as one stream. */
#pragma once

#include <linux/perf_event.h>

#include "processes/sideband.h"

/* A record's size is a 16-bit number. */
#define MAX_RECORD_BYTES 65536

#define MAX_BUILD_ID 20

/* Behind each record (sample_id_all with PERF_SAMPLE_TIME and PERF_SAMPLE_IDENTIFIER). */
struct record_trailer {
	uint64_t time;
	uint64_t event; /* the perf event that wrote it */
};

enum record_meaning {
	RECORD_EVENT,
	RECORD_BUILD_ID,  /* of the mapping that is told next, from that place on to that one */
	RECORD_OTHER,     /* nothing that is of interest */
	RECORD_MALFORMED, /* not as the kernel writes it */
};

/*
 * Make @ret of a whole record, trailer included, of @n bytes: its header's size, a multiple of 8.
 * Strings point into @record, which may be written to. @build_id_event: the perf event that is
 * there for build IDs, or 0.
 */
enum record_meaning sideband_parse(uint8_t *record, size_t n, uint64_t build_id_event,
				   struct process_event *ret);

struct sideband_ring {
	struct perf_event_mmap_page *page; /* borrowed; with the data behind it */
	uint64_t build_id_event;           /* whose MMAP2 records are only read for build IDs; 0 */
	uint64_t tail, head;
	uint64_t next; /* time of the record at @tail; UINT64_MAX: there is none */
	uint64_t last; /* of the one taken last */

	/* The build ID of the mapping that the next record may be of. */
	struct process_event noted;
	uint8_t noted_id[MAX_BUILD_ID];
};

/* See what has been written, up to now. */
void sideband_ring_look(struct sideband_ring *ring);

/*
 * Take the record at @tail, which must be there; false where it means nothing to us. @ret is
 * valid until @buffer (MAX_RECORD_BYTES) or @ring is used again.
 */
bool sideband_ring_take(struct sideband_ring *ring, uint8_t *buffer, struct process_event *ret);
