// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the perf events of each CPU to one stream of events: records, rings, events, stream.
 *
 * A record (include/uapi/linux/perf_event.h), in bytes:
 *
 *	header  u32 type, u16 misc, u16 size (of all, a multiple of 8)
 *	FORK, EXIT  u32 pid, ppid, tid, ptid; u64 time
 *	COMM    u32 pid, tid; text
 *	MMAP2   u32 pid, tid; u64 addr, len, pgoff; 24 bytes; u32 prot, flags; text
 *	        the 24 bytes: u32 maj, min; u64 ino, ino_generation
 *	        or, for an event with attr.build_id: u8 size, 3 unused; u8 build_id[20]
 *	LOST    u64 id, lost
 *	trailer u64 time, id
 *
 * Each CPU has two perf events, which write into one ring. The first reports what the CPU's tasks
 * do.
 *
 * The second one only adds build IDs: a MMAP2 record has either the file's device and inode or
 * its build ID. The kernel visits the event that was opened last first. So the build ID comes
 * before the other record of the same mapping.
 *
 * A reading takes the clock first, then the rings' heads. It leaves records that are later than
 * that clock for the next reading. The kernel takes a record's time just before its place in the
 * ring. So an older record may not be there yet. But its consequences (the process's next step on
 * any CPU, its child's first) come after it got its place. Hence they are later than the clock, and
 * wait too. So the events of one process are always in order. Only a record of an unrelated process
 * may come late.
 */
#include "processes/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/read.h"
#include "kernel/host.h"

#define MOST_RING_BYTES (512u << 10)
#define FEWEST_RING_BYTES (16u << 10)
#define MOST_BYTES (32ull << 20)

#define CHECK_CPUS_NS NS_PER_S

/* --- records --- */

/* The end of each record (sample_id_all with PERF_SAMPLE_TIME and PERF_SAMPLE_IDENTIFIER). */
struct record_trailer {
	uint64_t time;
	uint64_t event; /* the perf event that wrote it */
};

/* What records have between header and trailer. A text may follow. */
union body {
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} task;
	struct {
		uint32_t pid, tid;
	} thread;
	struct {
		uint32_t pid, tid;
		uint64_t addr, n, offset;
		uint8_t file[24];
		uint32_t prot, flags;
	} map;
	struct {
		uint64_t id, n;
	} lost;
};

static const uint8_t body_bytes[] = {
	[PERF_RECORD_FORK] = sizeof(((union body *)0)->task),
	[PERF_RECORD_EXIT] = sizeof(((union body *)0)->task),
	[PERF_RECORD_COMM] = sizeof(((union body *)0)->thread),
	[PERF_RECORD_MMAP2] = sizeof(((union body *)0)->map),
	[PERF_RECORD_LOST] = sizeof(((union body *)0)->lost),
};

/* No process of our PID namespace (0), or not any more (-1). */
static bool is_elsewhere(uint32_t pid)
{
	return pid == 0 || pid > INT32_MAX;
}

/*
 * A path is what d_path() makes of it in the process itself; it is not escaped. If the kernel has
 * none, it writes one of these texts, and gives no inode either.
 */
static void set_map_path(char *path, struct mapping *m)
{
	static const char *const texts[][2] = { { "//anon", "" },
						{ "//enomem", "[path not known]" },
						{ "//toolong", "[path too long]" } };
	size_t n = strlen(path);

	m->is_deleted = mapping_cut_deleted(path, &n);
	path[n] = '\0';
	m->path = path;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(path, texts[i][0]) == 0)
			m->path = texts[i][1];
}

/* @b is a copy of the bytes at @at. */
static enum record_meaning parse_map(const union body *b, uint8_t *at, bool has_build_id,
				     struct process_event *ret)
{
	uint32_t dev[2];

	set_map_path((char *)at + sizeof(b->map), &ret->map);
	ret->map.start = b->map.addr;
	ret->map.end = b->map.addr + b->map.n;
	ret->map.offset = b->map.offset;
	if (ret->map.end <= ret->map.start)
		return RECORD_MALFORMED;
	if (!(b->map.prot & PROT_EXEC))
		return RECORD_OTHER;
	if (has_build_id) {
		ret->n_build_id = b->map.file[0];
		ret->build_id = at + offsetof(union body, map.file) + 4;
		return ret->n_build_id <= MAX_BUILD_ID ? RECORD_BUILD_ID : RECORD_MALFORMED;
	}
	memcpy(dev, b->map.file, sizeof(dev));
	memcpy(&ret->map.inode, b->map.file + 8, 8);
	ret->map.dev = ret->map.inode ? makedev(dev[0], dev[1]) : 0;
	return RECORD_EVENT;
}

static enum record_meaning parse_body(uint8_t *at, size_t n, const struct perf_event_header *header,
				      struct process_event *ret)
{
	const size_t n_body = header->type < ARRAY_SIZE(body_bytes) ? body_bytes[header->type] : 0;
	const bool is_fork = header->type == PERF_RECORD_FORK;
	union body b;

	if (!n_body)
		return RECORD_OTHER;
	if (n < n_body)
		return RECORD_MALFORMED;
	memcpy(&b, at, n_body);

	const bool has_text = memchr(at + n_body, '\0', n - n_body) != NULL;

	if (header->type == PERF_RECORD_LOST) {
		ret->type = PROCESS_LOST;
		ret->n_lost = b.lost.n;
		return RECORD_EVENT;
	}
	ret->pid = b.thread.pid;
	ret->tid = b.thread.tid;
	switch (header->type) {
	case PERF_RECORD_COMM:
		ret->type = header->misc & PERF_RECORD_MISC_COMM_EXEC ? PROCESS_EXEC : PROCESS_COMM;
		ret->comm = (const char *)at + n_body;
		return has_text ? RECORD_EVENT : RECORD_MALFORMED;
	case PERF_RECORD_MMAP2:
		ret->type = PROCESS_MAP;
		return has_text ? parse_map(&b, at, header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID,
					    ret)
				: RECORD_MALFORMED;
	default:
		ret->type = is_fork ? PROCESS_FORK : PROCESS_EXIT;
		ret->tid = b.task.tid;
		ret->parent_pid = is_fork && !is_elsewhere(b.task.ppid) ? b.task.ppid : 0;
		ret->parent_tid = is_fork && !is_elsewhere(b.task.ptid) ? b.task.ptid : 0;
		return RECORD_EVENT;
	}
}

/*
 * PERF_RECORD_MISC_MMAP_BUILD_ID marks a build ID. But the kernel does not clear the flag when the
 * record goes to the next event. So any user's event with attr.build_id sets it for others, too. We
 * believe the flag only of our own event with attr.build_id. What that one reports besides, the
 * first event reports, too.
 */
enum record_meaning sideband_parse(uint8_t *record, size_t n, uint64_t build_id_event,
				   struct process_event *ret)
{
	struct perf_event_header header;
	struct record_trailer trailer;
	enum record_meaning meaning;

	*ret = (struct process_event){};
	if (n < sizeof(header) + sizeof(trailer))
		return RECORD_MALFORMED;
	memcpy(&header, record, sizeof(header));
	memcpy(&trailer, record + n - sizeof(trailer), sizeof(trailer));
	ret->time = trailer.time;

	const bool is_for_build_ids = build_id_event && trailer.event == build_id_event;
	const bool is_map = header.type == PERF_RECORD_MMAP2;

	if (!is_for_build_ids)
		header.misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
	else if (is_map ? !(header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
			: header.type != PERF_RECORD_LOST)
		return RECORD_OTHER;
	meaning = parse_body(record + sizeof(header), n - sizeof(header) - sizeof(trailer), &header,
			     ret);
	if (meaning == RECORD_EVENT && ret->type != PROCESS_LOST && is_elsewhere(ret->pid))
		return RECORD_OTHER;
	return meaning;
}

/* --- the ring of a CPU --- */

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

/* The size of the record at the tail; 0: none can be there. */
static uint64_t record_size(const struct sideband_ring *ring)
{
	const uint64_t left = ring->head - ring->tail;
	struct perf_event_header header;
	const size_t least = sizeof(header) + sizeof(struct record_trailer);

	if (left < least)
		return 0;
	copy_from_ring(ring, ring->tail, &header, sizeof(header));
	return header.size >= least && header.size % 8 == 0 && header.size <= left ? header.size
										   : 0;
}

static void find_next_record(struct sideband_ring *ring)
{
	const uint64_t size = record_size(ring);
	struct record_trailer trailer;

	ring->next = ring->tail == ring->head ? NONE : ring->last;
	if (!size)
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

/* Move the tail, so that the kernel may write there again. @size: record_size() */
static void pass_record(struct sideband_ring *ring, uint64_t size)
{
	ring->last = ring->next;
	ring->tail = size ? ring->tail + size : ring->head;
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	find_next_record(ring);
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
	const uint64_t since = ring->last, size = record_size(ring);
	enum record_meaning meaning = RECORD_MALFORMED;

	if (size) {
		copy_from_ring(ring, ring->tail, buffer, size);
		meaning = sideband_parse(buffer, size, ring->build_id_event, ret);
	}
	pass_record(ring, size);
	if (meaning == RECORD_BUILD_ID) {
		ring->noted = *ret;
		ring->noted.map.path = NULL; /* not ours */
		memcpy(ring->noted_id, ret->build_id, ret->n_build_id);
	}
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

	for (sideband_ring_look(ring); ring->tail != ring->head; n++)
		pass_record(ring, record_size(ring));
	ring->noted.n_build_id = 0;
	return n;
}

/* --- the perf events of a CPU --- */

struct sideband_cpu {
	uint32_t cpu;
	int fd, build_id_fd; /* the two perf events; -1: none */
	size_t n_bytes;      /* of the mapped ring, with its first page */
	uint64_t enabled_ns; /* at the last check */
	struct sideband_ring ring;
};

struct sideband {
	int epoll_fd;
	uint32_t ring_bytes; /* of each CPU */
	struct sideband_cpu **cpus;
	size_t n, capacity;
	uint64_t checked_at;
	uint64_t bound, given; /* records from @bound on wait; the latest time of an event so far */
	_Alignas(uint64_t) uint8_t buffer[MAX_RECORD_BYTES];
};

/* Each wake-up costs the process that causes it an interrupt: one for a quarter of the ring. */
static int open_tasks(uint32_t cpu, uint32_t ring_bytes, bool is_for_build_ids)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = ring_bytes / 4,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = is_for_build_ids,
		.comm = !is_for_build_ids,
		.comm_exec = !is_for_build_ids,
		.task = !is_for_build_ids,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void cpu_freep(struct sideband_cpu **at)
{
	struct sideband_cpu *c = *at;

	*at = NULL;
	if (!c)
		return;
	if (c->ring.page)
		(void)munmap(c->ring.page, c->n_bytes);
	cleanup_close_fd(&c->build_id_fd);
	cleanup_close_fd(&c->fd); /* this also removes it from the epoll set */
	free(c);
}

static int cannot_open(struct error *e)
{
	const int code = -errno;
	const char *words = NULL;

	if (code == -ENOSYS)
		words = "this kernel has no perf events";
	else if (code == -EACCES || code == -EPERM)
		words = host_missing_capability() ? "needs CAP_PERFMON" : host_no_perf_events();
	return error_set(e, code, "follow processes: %s", words ? words : error_words(code));
}

/* -ENOMEM: also if the user may not lock so much memory. */
static int map_ring(struct sideband_cpu *c, uint32_t ring_bytes, struct error *e)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t n = page + (ring_bytes < page ? page : ring_bytes);
	void *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);

	if (memory == MAP_FAILED && errno == EPERM)
		return error_set(e, -ENOMEM,
				 "follow processes: more locked memory than sysctl "
				 "kernel.perf_event_mlock_kb allows");
	if (memory == MAP_FAILED)
		return error_errno(e, "follow processes: map a perf ring");
	c->n_bytes = n;
	c->ring.page = memory;
	return 0;
}

/* Build IDs are optional, so a failure gives no message. */
static void add_build_ids(struct sideband_cpu *c, uint32_t ring_bytes)
{
	c->build_id_fd = open_tasks(c->cpu, ring_bytes, true);
	if (c->build_id_fd < 0)
		return;
	if (ioctl(c->build_id_fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd) < 0 ||
	    ioctl(c->build_id_fd, PERF_EVENT_IOC_ID, &c->ring.build_id_event) < 0) {
		cleanup_close_fd(&c->build_id_fd);
		c->ring.build_id_event = 0;
	}
}

/* Errors: as sideband_open(); -ENODEV the CPU is offline; -EINVAL there is no such CPU. */
static int follow_cpu(struct sideband *s, uint32_t cpu, struct error *e)
{
	cleanup(cpu_freep) struct sideband_cpu *c = xcalloc(1, sizeof(*c));
	struct epoll_event event = { .events = EPOLLIN };

	c->cpu = cpu;
	c->build_id_fd = -1;
	c->fd = open_tasks(cpu, s->ring_bytes, false);
	if (c->fd < 0)
		return cannot_open(e);

	int err = map_ring(c, s->ring_bytes, e);

	if (err)
		return err;
	add_build_ids(c, s->ring_bytes);
	c->ring.last = clock_ns(CLOCK_MONOTONIC);
	sideband_ring_look(&c->ring);
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) < 0)
		return error_errno(e, "follow processes: epoll");
	array_push(s->cpus, s->n, s->capacity, TAKE(c));
	return 0;
}

static bool is_cpu_followed(const struct sideband *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->cpus[i]->cpu == cpu)
			return true;
	return false;
}

/* Follow the online CPUs that are not followed yet. The kernel ends their numbers with -EINVAL. */
static int follow_online(struct sideband *s, struct error *e)
{
	for (uint32_t cpu = 0;; cpu++) {
		int err = is_cpu_followed(s, cpu) ? 0 : follow_cpu(s, cpu, e);

		if (err == -EINVAL && cpu > 0)
			return 0;
		if (err && err != -ENODEV)
			return err;
	}
}

static uint32_t default_ring_bytes(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t bytes = MOST_RING_BYTES;

	while (bytes > FEWEST_RING_BYTES &&
	       (uint64_t)bytes * (uint64_t)(n > 0 ? n : 1) > MOST_BYTES)
		bytes /= 2;
	return bytes;
}

static void leave_all_cpus(struct sideband *s)
{
	for (size_t i = 0; i < s->n; i++)
		cpu_freep(&s->cpus[i]);
	s->n = 0;
}

/*
 * Without CAP_IPC_LOCK, a user may lock kernel.perf_event_mlock_kb (516) for each CPU, and
 * RLIMIT_MEMLOCK. Other perf rings of the user count, too. So retry with smaller rings.
 */
static int follow_all_cpus(struct sideband *s, struct error *e)
{
	for (;;) {
		int err = follow_online(s, e);

		if (err != -ENOMEM || s->ring_bytes <= FEWEST_RING_BYTES)
			return err;
		leave_all_cpus(s);
		s->ring_bytes /= 2;
	}
}

int sideband_open(uint32_t ring_bytes, struct sideband **ret, struct error *e)
{
	struct sideband *s = xcalloc(1, sizeof(*s));
	int err;

	s->ring_bytes = ring_bytes;
	if (!s->ring_bytes)
		s->ring_bytes = default_ring_bytes();
	s->bound = s->given = s->checked_at = clock_ns(CLOCK_MONOTONIC);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll_fd < 0 ? error_errno(e, "follow processes: epoll") : follow_all_cpus(s, e);
	if (err)
		sideband_close(s);
	else
		*ret = s;
	return err;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	leave_all_cpus(s);
	free(s->cpus);
	cleanup_close_fd(&s->epoll_fd);
	free(s);
}

/* --- CPUs that come and go --- */

/* The events of a CPU that has gone offline since the last check have ended, and all are read. */
static void leave_offline(struct sideband *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct sideband_cpu *c = s->cpus[i];
		const uint64_t before = c->enabled_ns;

		c->enabled_ns = read_enabled_ns(c->fd);
		if (c->enabled_ns == before)
			cpu_freep(&s->cpus[i]);
		else
			s->cpus[n++] = c;
	}
	s->n = n;
}

/*
 * The records of a new CPU until now are lost, in unknown number. While a CPU cannot be followed,
 * each check reports a loss and tries again.
 */
static int check_cpus(struct sideband *s, uint64_t now, sideband_visit *visit, void *context)
{
	struct process_event lost = { .type = PROCESS_LOST, .since = s->checked_at };
	size_t n;

	if (now - s->checked_at < CHECK_CPUS_NS)
		return 0;
	s->checked_at = now;
	leave_offline(s);
	n = s->n;
	if (follow_online(s, NULL) == 0 && s->n == n)
		return 0;
	lost.time = clock_ns(CLOCK_MONOTONIC);
	return visit(context, &lost);
}

/* --- the stream --- */

int sideband_fd(const struct sideband *s)
{
	return s->epoll_fd;
}

uint64_t sideband_until(const struct sideband *s)
{
	return s->bound;
}

/* The ring with the earliest record before @bound; NULL: there is none. */
static struct sideband_ring *choose_ring(const struct sideband *s)
{
	struct sideband_ring *first = NULL;
	uint64_t least = s->bound;

	for (size_t i = 0; i < s->n; i++) {
		struct sideband_ring *ring = &s->cpus[i]->ring;

		if (ring->next < least) {
			least = ring->next;
			first = ring;
		}
	}
	return first;
}

int sideband_read(struct sideband *s, sideband_visit *visit, void *context)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct sideband_ring *ring;
	struct process_event event;
	int result = 0;

	s->bound = now;
	for (size_t i = 0; i < s->n; i++)
		sideband_ring_look(&s->cpus[i]->ring);
	while (!result && (ring = choose_ring(s))) {
		if (!sideband_ring_take(ring, s->buffer, &event))
			continue;
		s->given = later_time(s->given, event.time);
		result = visit(context, &event);
	}
	if (result)
		s->bound = s->given;
	return result ? result : check_cpus(s, now, visit, context);
}

void sideband_drop(struct sideband *s, sideband_visit *visit, void *context)
{
	struct process_event lost = { .type = PROCESS_LOST, .since = s->bound };

	for (size_t i = 0; i < s->n; i++)
		lost.n_lost += sideband_ring_drop(&s->cpus[i]->ring);
	lost.time = s->bound = clock_ns(CLOCK_MONOTONIC);
	if (lost.n_lost)
		(void)visit(context, &lost);
}
