// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A ring of any bytes is read to its end, and what is given is well-formed: no more events than
 * records could be, mappings that begin before they end, texts that end within their record.
 * Input: the number of the event for build IDs, what went through the ring before (16 bits), and
 * the ring's bytes.
 */
#include "fuzz.h"

#include <linux/perf_event.h>

#include "processes/sideband.h"

#define HEAD_BYTES 10
#define PAGE_BYTES 1088

static void check(const struct process_event *event, size_t most)
{
	require(event->type <= PROCESS_LOST);
	if (event->type == PROCESS_LOST)
		return;
	require(event->pid != 0 && event->pid <= INT32_MAX);
	if (event->type == PROCESS_EXEC || event->type == PROCESS_COMM)
		require(strlen(event->comm) < most);
	if (event->type != PROCESS_MAP)
		return;
	require(event->map.start < event->map.end && strlen(event->map.path) < most);
	require(event->map.inode != 0 || event->map.dev == 0);
	require(event->n_build_id <= MAX_BUILD_ID);

	uint8_t copy[MAX_BUILD_ID];

	if (event->n_build_id)
		memcpy(copy, event->build_id, event->n_build_id);
}

/* In memory of just its size, so that a sanitizer sees a step outside. */
static void parse_one(const uint8_t *data, size_t n, uint64_t build_id_event)
{
	struct process_event event;
	uint8_t *record = malloc(n ? n : 1);

	require(record != NULL);
	if (n)
		memcpy(record, data, n);
	if (sideband_parse(record, n, build_id_event, &event) == RECORD_EVENT)
		check(&event, n);
	free(record);
}

static void read_ring(struct sideband_ring *ring, size_t n)
{
	uint8_t *buffer = malloc(MAX_RECORD_BYTES);
	size_t n_taken = 0;

	require(buffer != NULL);
	for (sideband_ring_look(ring); ring->next != UINT64_MAX; n_taken++) {
		struct process_event event;

		if (sideband_ring_take(ring, buffer, &event))
			check(&event, MAX_RECORD_BYTES);
	}
	require(ring->page->data_tail == ring->page->data_head);
	require(n_taken <= n / 24 + 1);
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t ring_bytes = 64, n;
	uint64_t event;
	uint16_t before;

	if (size < HEAD_BYTES || size > 65536)
		return 0;
	memcpy(&event, data, 8);
	memcpy(&before, data + 8, 2);
	data += HEAD_BYTES;
	n = size - HEAD_BYTES;
	while (ring_bytes < n)
		ring_bytes *= 2;
	parse_one(data, n, event);

	struct perf_event_mmap_page *page = calloc(1, PAGE_BYTES + ring_bytes);

	require(page != NULL && sizeof(*page) <= PAGE_BYTES);
	page->data_offset = PAGE_BYTES;
	page->data_size = ring_bytes;
	page->data_tail = before;
	page->data_head = before + n;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)page)[PAGE_BYTES + (before + i) % ring_bytes] = data[i];

	struct sideband_ring ring = { .page = page, .build_id_event = event, .tail = before };

	read_ring(&ring, n);
	free(page);
	return 0;
}
