// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/notices.h"

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

static void notices_closep(struct notices **n)
{
	notices_close(*n);
}

int notices_open(const struct object *object, struct notices **ret, struct error *e)
{
	cleanup(notices_closep) struct notices *n = xcalloc(1, sizeof(*n));
	void *memory;

	n->fd = object_maps(object)->wake_fd;
	n->page = (size_t)sysconf(_SC_PAGESIZE);
	n->mask = WAKE_BYTES - 1;
	memory = mmap(NULL, n->page, PROT_READ | PROT_WRITE, MAP_SHARED, n->fd, 0);
	if (memory == MAP_FAILED)
		return error_errno(e, "map the ring buffer");
	n->consumer = memory;
	/* The kernel lets us write to the first page only. */
	memory = mmap(NULL, n->page + 2 * WAKE_BYTES, PROT_READ, MAP_SHARED, n->fd, (off_t)n->page);
	if (memory == MAP_FAILED)
		return error_errno(e, "map the ring buffer");
	n->producer = memory;
	n->data = (const uint8_t *)memory + n->page;
	*ret = TAKE(n);
	return 0;
}

void notices_close(struct notices *n)
{
	if (!n)
		return;
	if (n->consumer)
		(void)munmap(n->consumer, n->page);
	if (n->producer)
		(void)munmap((void *)n->producer, n->page + 2 * WAKE_BYTES);
	free(n);
}

/* Bytes of a record whose data has @n bytes. */
static uint64_t record_bytes(uint32_t n)
{
	return ((uint64_t)n + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

void notices_read(struct notices *n, notice_take *take, void *context)
{
	const uint64_t until = notices_end(n);
	uint64_t at = *n->consumer;
	bool goes_on = true;

	while (goes_on && at < until) {
		const uint8_t *record = n->data + (at & n->mask);
		const uint32_t header = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		const uint32_t bytes = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT) /* a program is writing it */
			return;
		if (!(header & BPF_RINGBUF_DISCARD_BIT) && bytes >= sizeof(struct notice))
			goes_on = take(context, (const void *)(record + BPF_RINGBUF_HDR_SZ));
		at += record_bytes(bytes);
		__atomic_store_n(n->consumer, at, __ATOMIC_RELEASE);
	}
}

uint64_t notices_end(const struct notices *n)
{
	return __atomic_load_n(n->producer, __ATOMIC_ACQUIRE);
}

bool notices_are_read(const struct notices *n, uint64_t end)
{
	return *n->consumer >= end;
}

size_t notices_n_waiting(const struct notices *n)
{
	return (size_t)((notices_end(n) - *n->consumer) / record_bytes(sizeof(struct notice)));
}
