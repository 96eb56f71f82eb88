// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each CPU has an event and a ring. A ring is read when somebody asks, and may be full by then. The
 * last record of an address counts. If one may be missing after it, it does not: the function may
 * have gone, and another one may be at its place.
 *
 * A record, in bytes (include/uapi/linux/perf_event.h):
 *
 *	header   u32 type, u16 misc, u16 size (of all)
 *	KSYMBOL  u64 addr; u32 len; u16 type, flags; text
 *	trailer  u64 time
 */
#include "kernel/ksymbols.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "kernel/host.h"
#include "kernel/perf_ring.h"

#define RING_PAGES 4

/* A name has at most 512 bytes. So a record that found no room leaves less than this. */
#define MOST_RECORD_BYTES 640

/* Functions come and go without end. With more addresses, all are forgotten. */
#define MOST_ADDRESSES 16384

struct record {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
};

struct last_record {
	uint64_t time;
	bool has_gone;
};

struct ksymbols {
	struct perf_event_mmap_page **rings; /* of the CPUs */
	size_t n_rings, rings_capacity;
	size_t ring_bytes;    /* with the first page */
	bool is_partial;      /* a CPU has no ring */
	char online[4096];    /* CPUs, as the kernel lists them */
	uint64_t complete;    /* no record is missing since then; ns of CLOCK_MONOTONIC */
	struct u64_map index; /* of addresses, in @last */
	struct last_record *last;
	size_t n_last, last_capacity;
};

static int open_ksymbol_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.ksymbol = 1,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX, /* nobody waits */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The mapping keeps the event, so it takes no descriptor. False: there are no more CPUs. */
static bool open_ring(struct ksymbols *k, int cpu)
{
	cleanup_close int fd = open_ksymbol_event(cpu);
	void *page;

	if (fd < 0) {
		k->is_partial |= errno != ENODEV && (errno != EINVAL || cpu == 0);
		return errno == ENODEV;
	}
	page = mmap(NULL, k->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		k->is_partial = true;
		return false;
	}
	array_push(k->rings, k->n_rings, k->rings_capacity, page);
	return true;
}

struct ksymbols *ksymbols_open(void)
{
	struct ksymbols *k = xcalloc(1, sizeof(*k));

	k->ring_bytes = (size_t)sysconf(_SC_PAGESIZE) * (RING_PAGES + 1);
	host_list_online_cpus(k->online, sizeof(k->online));
	for (int cpu = 0; open_ring(k, cpu); cpu++)
		continue;
	k->complete = clock_ns(CLOCK_MONOTONIC);
	return k;
}

void ksymbols_free(struct ksymbols *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->n_rings; i++)
		(void)munmap(k->rings[i], k->ring_bytes);
	free(k->rings);
	u64_map_fini(&k->index);
	free(k->last);
	free(k);
}

static void forget_addresses(struct ksymbols *k)
{
	u64_map_clear(&k->index);
	k->n_last = 0;
	k->complete = clock_ns(CLOCK_MONOTONIC);
}

static void note_record(struct ksymbols *k, const struct record *r, uint64_t time)
{
	const struct last_record none = {};
	struct last_record *last;
	bool is_new;

	if (k->n_last >= MOST_ADDRESSES)
		forget_addresses(k);

	const uint32_t i = *u64_map_put(&k->index, r->addr, (uint32_t)k->n_last, &is_new);

	if (is_new)
		array_push(k->last, k->n_last, k->last_capacity, none);
	last = &k->last[i];
	if (time >= last->time)
		*last = (struct last_record){
			.time = time,
			.has_gone = r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		};
}

/* Take the record at @at. Returns its size; 0: no kernel writes such a record. */
static size_t take_record(struct ksymbols *k, const struct perf_event_mmap_page *ring, uint64_t at,
			  uint64_t n)
{
	struct record r = {};
	uint64_t time;

	if (n < sizeof(r.header) + sizeof(time))
		return 0;
	perf_ring_copy(ring, at, &r.header, sizeof(r.header));
	if (r.header.size < sizeof(r.header) + sizeof(time) || r.header.size > n)
		return 0;
	perf_ring_copy(ring, at + r.header.size - sizeof(time), &time, sizeof(time));
	if (r.header.type == PERF_RECORD_LOST && time > k->complete)
		k->complete = time;
	if (r.header.type != PERF_RECORD_KSYMBOL)
		return r.header.size;
	if (r.header.size < sizeof(r) + sizeof(time))
		return 0;
	perf_ring_copy(ring, at, &r, sizeof(r));
	note_record(k, &r, time);
	return r.header.size;
}

static void read_ring(struct ksymbols *k, struct perf_event_mmap_page *ring)
{
	const uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;
	bool may_be_lost = head - tail + MOST_RECORD_BYTES > ring->data_size;
	size_t size;

	while (tail < head && (size = take_record(k, ring, tail, head - tail)) > 0)
		tail += size;
	may_be_lost |= tail != head;
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	if (may_be_lost)
		k->complete = clock_ns(CLOCK_MONOTONIC);
}

void ksymbols_read(struct ksymbols *k)
{
	char online[sizeof(k->online)];

	host_list_online_cpus(online, sizeof(online));
	k->is_partial |= strcmp(online, k->online) != 0;
	if (k->is_partial)
		return;
	for (size_t i = 0; i < k->n_rings; i++)
		read_ring(k, k->rings[i]);
}

uint64_t ksymbols_since(const struct ksymbols *k, uint64_t start)
{
	const uint32_t *i = u64_map_get(&k->index, start);
	const struct last_record *last = i ? &k->last[*i] : NULL;

	return last && !last->has_gone && last->time > k->complete && !k->is_partial ? last->time
										     : 0;
}
