/*
 * Each CPU has two events, which write into one ring: what a CPU's tasks do is told by that CPU.
 * The second one only adds build IDs: a MMAP2 record has either the file's device and inode or
 * its build ID. The kernel asks the event that was opened last first, so a build ID comes before
 * the record that it is of.
 *
 * A record's time is taken just before its place in the ring, with preemption disabled. So when
 * the clock is read first and the rings' heads then, what is not seen yet is later than that
 * clock, but for a record whose CPU is between the two: an interrupt, or a hypervisor that runs
 * something else. A margin stands for that; what exceeds it is given all the same, and marked.
 */
#include "host/sideband.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "host/host.h"
#include "host/read.h"
#include "host/sideband_ring.h"

#define MARGIN_NS 100000

#define MOST_RING_BYTES (512u << 10)
#define FEWEST_RING_BYTES (16u << 10)
#define MOST_BYTES (32ull << 20)
#define WAKEUP_BYTES 4096

#define CHECK_CPUS_NS 1000000000

struct follower {
	uint32_t cpu;
	int fd, build_id_fd; /* -1: none */
	void *memory;
	size_t n_bytes;
	bool has_gone; /* offline */
	struct sideband_ring ring;
};

struct sideband {
	int epoll_fd;
	uint32_t ring_bytes, wakeup_bytes;
	bool has_no_build_ids;
	struct follower **followers;
	size_t n, capacity;
	char online[4096]; /* CPUs, as the kernel lists them */
	uint64_t checked_at;
	uint64_t bound, given; /* times */
	bool is_holding;
	_Alignas(uint64_t) uint8_t buffer[MAX_RECORD_BYTES];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- one CPU --- */

static int open_event(uint32_t cpu, uint32_t wakeup_bytes, bool is_for_build_ids)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = is_for_build_ids,
		.comm = !is_for_build_ids,
		.comm_exec = !is_for_build_ids,
		.task = !is_for_build_ids,
		.watermark = 1,
		.wakeup_watermark = wakeup_bytes,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void follower_free(struct follower *f)
{
	if (!f)
		return;
	if (f->memory)
		(void)munmap(f->memory, f->n_bytes);
	cleanup_close_fd(&f->build_id_fd);
	cleanup_close_fd(&f->fd); /* and so it leaves the epoll set */
	free(f);
}

static void follower_freep(struct follower **f)
{
	follower_free(*f);
	*f = NULL;
}

static int cannot_open(const char *what, struct error *e)
{
	const int code = -errno;
	const char *words = NULL;

	if (code == -ENOSYS)
		words = "this kernel has no perf events";
	else if (code == -EACCES || code == -EPERM)
		words = host_missing_capability() ? "needs CAP_PERFMON" : host_no_perf_events();
	return error_set(e, code, "%s: %s", what, words ? words : strerror(-code));
}

/*
 * Without CAP_IPC_LOCK a user may have kernel.perf_event_mlock_kb (516) for each CPU, and
 * RLIMIT_MEMLOCK: what others of the same user have is taken from that.
 */
static int map_ring(struct sideband *s, struct follower *f, struct error *e)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (;;) {
		size_t n = page + (s->ring_bytes < page ? page : s->ring_bytes);
		void *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);

		if (memory != MAP_FAILED) {
			f->memory = memory;
			f->n_bytes = n;
			f->ring.page = memory;
			return 0;
		}
		if ((errno != EPERM && errno != ENOMEM) || s->ring_bytes <= FEWEST_RING_BYTES)
			return errno == EPERM
				       ? error_set(
						 e, -EPERM,
						 "follow processes: more locked memory than sysctl "
						 "kernel.perf_event_mlock_kb allows")
				       : error_errno(e, "follow processes: map a perf ring");
		s->ring_bytes /= 2;
	}
}

/* Build IDs are an addition: nothing is said where there are none. */
static void add_build_ids(struct sideband *s, struct follower *f)
{
	if (s->has_no_build_ids)
		return;
	f->build_id_fd = open_event(f->cpu, s->wakeup_bytes, true);

	if (f->build_id_fd < 0) {
		s->has_no_build_ids = errno == EINVAL;
	} else if (ioctl(f->build_id_fd, PERF_EVENT_IOC_SET_OUTPUT, f->fd) < 0 ||
		   ioctl(f->build_id_fd, PERF_EVENT_IOC_ID, &f->ring.build_id_event) < 0) {
		cleanup_close_fd(&f->build_id_fd);
		f->ring.build_id_event = 0;
	}
}

/* Errors: -ENODEV the CPU is offline; -EINVAL there is no such CPU. */
static int follow_cpu(struct sideband *s, uint32_t cpu, struct error *e)
{
	cleanup(follower_freep) struct follower *f = xcalloc(1, sizeof(*f));

	f->cpu = cpu;
	f->build_id_fd = -1;
	f->fd = open_event(cpu, s->wakeup_bytes, false);
	if (f->fd < 0)
		return cannot_open("follow processes", e);

	int err = map_ring(s, f, e);

	if (err)
		return err;
	add_build_ids(s, f);
	f->ring.last = now_ns();
	sideband_ring_look(&f->ring);

	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, f->fd, &event) < 0)
		return error_errno(e, "follow processes: epoll");
	array_push(s->followers, s->n, s->capacity, f);
	f = NULL; /* the list's now */
	return 0;
}

/* --- all --- */

static bool is_followed(const struct sideband *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->followers[i]->cpu == cpu && !s->followers[i]->has_gone)
			return true;
	return false;
}

/* Open what is online and not followed; CPUs' numbers end where the kernel knows no more. */
static int follow_online(struct sideband *s, struct error *e)
{
	for (uint32_t cpu = 0;; cpu++) {
		int err = is_followed(s, cpu) ? 0 : follow_cpu(s, cpu, e);

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

static void list_online(char *to, size_t size)
{
	if (read_small(AT_FDCWD, "/sys/devices/system/cpu/online", to, size) < 0)
		to[0] = '\0';
}

int sideband_open(const struct sideband_options *options, struct sideband **ret, struct error *e)
{
	cleanup(sideband_closep) struct sideband *s = xcalloc(1, sizeof(*s));

	s->ring_bytes = options->ring_bytes ? options->ring_bytes : default_ring_bytes();
	s->wakeup_bytes = options->wakeup_bytes ? options->wakeup_bytes : WAKEUP_BYTES;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return error_errno(e, "follow processes: epoll");
	list_online(s->online, sizeof(s->online));

	int err = follow_online(s, e);

	if (err)
		return err;
	s->bound = s->given = s->checked_at = now_ns();
	*ret = TAKE(s);
	return 0;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		follower_free(s->followers[i]);
	free(s->followers);
	cleanup_close_fd(&s->epoll_fd);
	free(s);
}

void sideband_closep(struct sideband **s)
{
	sideband_close(*s);
	*s = NULL;
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll_fd;
}

uint64_t sideband_until(const struct sideband *s)
{
	return s->bound;
}

bool sideband_is_holding(const struct sideband *s)
{
	return s->is_holding;
}

/* --- CPUs that come and go --- */

/*
 * The kernel takes the events off a CPU that goes offline, and does not put them back. What such a
 * CPU has written is still read.
 */
static void leave_offline(struct sideband *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct follower *f = s->followers[i];

		f->has_gone |= !host_cpu_is_online(f->cpu);
		if (f->has_gone && f->ring.next == UINT64_MAX)
			follower_free(f);
		else
			s->followers[n++] = f;
	}
	s->n = n;
}

/* What a new CPU's tasks did until now is lost, and nobody knows how much that was. */
static int follow_new(struct sideband *s, sideband_visit *visit, void *context)
{
	struct process_event lost = { .type = PROCESS_LOST, .since = s->checked_at };
	const size_t n = s->n;

	if (follow_online(s, NULL) == 0 && s->n == n)
		return 0;
	lost.time = now_ns();
	return visit(context, &lost);
}

static int check_cpus(struct sideband *s, uint64_t now, sideband_visit *visit, void *context)
{
	char online[sizeof(s->online)];
	int result = 0;

	if (now - s->checked_at < CHECK_CPUS_NS)
		return 0;
	list_online(online, sizeof(online));
	if (strcmp(online, s->online) != 0) {
		leave_offline(s);
		result = follow_new(s, visit, context);
		memcpy(s->online, online, sizeof(online));
	}
	s->checked_at = now;
	return result;
}

/* --- reading --- */

static void look(struct sideband *s, bool is_all, uint64_t now)
{
	s->bound = is_all ? UINT64_MAX : now - MARGIN_NS;
	for (size_t i = 0; i < s->n; i++)
		sideband_ring_look(&s->followers[i]->ring);
}

/* The ring with the earliest record; NULL: none that may be given. */
static struct sideband_ring *choose(const struct sideband *s)
{
	struct sideband_ring *first = NULL;
	uint64_t least = s->bound;

	for (size_t i = 0; i < s->n; i++) {
		struct sideband_ring *ring = &s->followers[i]->ring;

		if (ring->next < least) {
			least = ring->next;
			first = ring;
		}
	}
	return first;
}

static bool is_any_left(const struct sideband *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->followers[i]->ring.next != UINT64_MAX)
			return true;
	return false;
}

int sideband_read(struct sideband *s, bool is_all, sideband_visit *visit, void *context)
{
	const uint64_t now = now_ns();
	struct sideband_ring *ring;
	struct process_event event;
	int result = 0;

	look(s, is_all, now);
	while (!result && (ring = choose(s))) {
		if (!sideband_ring_take(ring, s->buffer, &event))
			continue;
		event.is_late = event.time < s->given;
		s->given = event.is_late ? s->given : event.time;
		result = visit(context, &event);
	}
	s->is_holding = is_any_left(s);
	if (result)
		s->bound = s->given;
	else if (is_all)
		s->bound = now - MARGIN_NS;
	return result ? result : check_cpus(s, now, visit, context);
}
