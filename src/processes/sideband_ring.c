// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "processes/sideband_ring.h"

#include <string.h>

#define NONE UINT64_MAX

/* Copy @n bytes from position @at on. They may go round the ring's end. */
static void copy_from_ring(const struct sideband_ring *ring, uint64_t at, void *to, size_t n)
{
	const struct perf_event_mmap_page *page = ring->page;
	const uint8_t *data = (const uint8_t *)page + page->data_offset;
	const uint64_t begin = at & (page->data_size - 1);
	const size_t first = n <= page->data_size - begin ? n : page->data_size - begin;

	memcpy(to, data + begin, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

/* The size of the record at the tail; if none can be there, the number of the bytes left. */
static uint64_t record_size(const struct sideband_ring *ring, bool *is_record)
{
	const uint64_t left = ring->head - ring->tail;
	struct perf_event_header header;

	*is_record = false;
	if (left < sizeof(header) + sizeof(struct record_trailer))
		return left;
	copy_from_ring(ring, ring->tail, &header, sizeof(header));
	*is_record = header.size >= sizeof(header) + sizeof(struct record_trailer) &&
		     header.size % 8 == 0 && header.size <= left;
	return *is_record ? header.size : left;
}

static void find_next_record(struct sideband_ring *ring)
{
	struct record_trailer trailer;
	bool is_record;

	ring->next = NONE;
	if (ring->tail == ring->head)
		return;

	uint64_t size = record_size(ring, &is_record);

	ring->next = ring->last;
	if (!is_record)
		return;
	copy_from_ring(ring, ring->tail + size - sizeof(trailer), &trailer, sizeof(trailer));
	ring->next = trailer.time < NONE ? trailer.time : NONE - 1;
}

void sideband_ring_look(struct sideband_ring *ring)
{
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	if (ring->head - ring->tail > ring->page->data_size) /* no kernel does so */
		ring->tail = ring->head;
	find_next_record(ring);
}

/* Move the tail, so that the kernel may write there again. */
static void pass_record(struct sideband_ring *ring, uint64_t size)
{
	ring->last = ring->next;
	ring->tail += size;
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	find_next_record(ring);
}

static void note_build_id(struct sideband_ring *ring, const struct process_event *event)
{
	ring->noted = *event;
	ring->noted.map.path = NULL; /* not ours */
	memcpy(ring->noted_id, event->build_id, event->n_build_id);
}

static void add_build_id(struct sideband_ring *ring, struct process_event *event)
{
	const struct process_event *noted = &ring->noted;

	if (!noted->n_build_id || noted->pid != event->pid || noted->tid != event->tid ||
	    noted->map.start != event->map.start || noted->map.end != event->map.end)
		return;
	event->build_id = ring->noted_id;
	event->n_build_id = noted->n_build_id;
}

bool sideband_ring_take(struct sideband_ring *ring, uint8_t *buffer, struct process_event *ret)
{
	const uint64_t since = ring->last;
	enum record_meaning meaning = RECORD_MALFORMED;
	bool is_record;
	uint64_t size = record_size(ring, &is_record);

	if (is_record) {
		copy_from_ring(ring, ring->tail, buffer, size);
		meaning = sideband_parse(buffer, size, ring->build_id_event, ret);
	}
	pass_record(ring, size);
	if (meaning == RECORD_BUILD_ID)
		note_build_id(ring, ret);
	if (meaning == RECORD_OTHER || meaning == RECORD_BUILD_ID)
		return false;
	if (meaning == RECORD_MALFORMED)
		*ret = (struct process_event){ .type = PROCESS_LOST,
					       .time = ring->last,
					       .n_lost = 1 };
	if (ret->type == PROCESS_LOST)
		ret->since = since;
	if (ret->type == PROCESS_MAP)
		add_build_id(ring, ret);
	if (ret->type == PROCESS_MAP || ret->type == PROCESS_LOST)
		ring->noted.n_build_id = 0;
	return true;
}

uint64_t sideband_ring_drop(struct sideband_ring *ring)
{
	uint64_t n = 0;
	bool is_record;

	for (sideband_ring_look(ring); ring->tail != ring->head; n++)
		pass_record(ring, record_size(ring, &is_record));
	ring->noted.n_build_id = 0;
	return n;
}
