/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* store/notices.h - notices, which the programs send through a map of type BPF_MAP_TYPE_RINGBUF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object.h"
#include "base/error.h"

/*
 * The ring in memory, as the kernel maps it. Positions count bytes and never go back. A record is a
 * header of 8 bytes, the data, and padding to a multiple of 8.
 */
struct notices {
	int fd; /* the object's. For epoll: readable while a notice waits */
	size_t page;
	uint64_t *consumer;       /* position of the first record that is not read; ours */
	const uint64_t *producer; /* position behind the last record; the kernel's */
	const uint8_t *data;      /* twice in a row, so that no record is in two parts */
	uint64_t mask;            /* size of the data, a power of two, - 1 */
};

/* Takes one notice, lent during the call. False: the reading ends with it. */
typedef bool notice_take(void *context, const struct notice *notice);

/* Map the ring of notices. @object must outlive the result. Errors: from mapping. */
must_check int notices_open(const struct object *object, struct notices **ret, struct error *e);
void notices_close(struct notices *n);

/*
 * Call @take for the notices that are in the ring now. Those that come meanwhile wait for the next
 * reading, or a reader that is slower than the programs would never return. (ring_buffer__consume()
 * of libbpf does not, and ring_buffer__consume_n() needs libbpf 1.5.)
 */
void notices_read(struct notices *n, notice_take *take, void *context);

/* The position behind the newest notice. */
uint64_t notices_end(const struct notices *n);

/* Are all notices before position @end read? */
bool notices_are_read(const struct notices *n, uint64_t end);

/* The number of notices that wait. */
size_t notices_n_waiting(const struct notices *n);
