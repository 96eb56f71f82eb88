// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each CPU has three perf events, which write into one ring. The first reports what the CPU's tasks
 * do.
 *
 * The second one only adds build IDs: a MMAP2 record has either the file's device and inode or
 * its build ID. The kernel visits the event that was opened last first. So the build ID comes
 * before the other record of the same mapping.
 *
 * The third one is a tracepoint. It reports that parent and child share one memory, which a FORK
 * record does not. The kernel writes FORK, and then comes to the tracepoint, before the child runs.
 * Only vfork(2) and posix_spawn(3) make such children, and a filter leaves out all others.
 */
#include "processes/sideband_cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kernel/host.h"

/* Each wake-up costs the process that causes it an interrupt: one for a quarter of the ring. */
static int open_event(uint32_t cpu, uint32_t ring_bytes, struct perf_event_attr attr)
{
	attr.size = sizeof(attr);
	attr.sample_id_all = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = ring_bytes / 4;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_tasks(uint32_t cpu, uint32_t ring_bytes, bool is_for_build_ids)
{
	return open_event(cpu, ring_bytes,
			  (struct perf_event_attr){
				  .type = PERF_TYPE_SOFTWARE,
				  .config = PERF_COUNT_SW_DUMMY,
				  .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
				  .exclude_kernel = 1,
				  .exclude_hv = 1,
				  .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
				  .mmap = 1,
				  .mmap2 = 1,
				  .build_id = is_for_build_ids,
				  .comm = !is_for_build_ids,
				  .comm_exec = !is_for_build_ids,
				  .task = !is_for_build_ids,
			  });
}

void sideband_cpu_free(struct sideband_cpu *c)
{
	if (!c)
		return;
	if (c->ring.page)
		(void)munmap(c->ring.page, c->n_bytes);
	cleanup_close_fd(&c->birth_fd);
	cleanup_close_fd(&c->build_id_fd);
	cleanup_close_fd(&c->fd); /* this also removes it from the epoll set */
	free(c);
}

void sideband_cpu_freep(struct sideband_cpu **c)
{
	sideband_cpu_free(*c);
	*c = NULL;
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

/*
 * A sample has the thread, and then time and id, in the layout of a record's trailer. Without this
 * event there are no SHARE events.
 */
static void add_births(struct sideband_cpu *c, const struct sideband_options *options)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = options->birth,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
	};
	char filter[80];

	c->birth_fd = options->birth ? open_event(c->cpu, options->ring_bytes, attr) : -1;
	if (c->birth_fd < 0)
		return;
	(void)snprintf(filter, sizeof(filter), "(clone_flags & 0x%x) && !(clone_flags & 0x%x)",
		       CLONE_VM, CLONE_THREAD);
	if (ioctl(c->birth_fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ||
	    ioctl(c->birth_fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd) < 0)
		cleanup_close_fd(&c->birth_fd);
}

int sideband_cpu_open(uint32_t cpu, const struct sideband_options *options,
		      struct sideband_cpu **ret, struct error *e)
{
	cleanup(sideband_cpu_freep) struct sideband_cpu *c = xcalloc(1, sizeof(*c));

	c->cpu = cpu;
	c->build_id_fd = c->birth_fd = -1;
	c->fd = open_tasks(cpu, options->ring_bytes, false);
	if (c->fd < 0)
		return cannot_open(e);

	int err = map_ring(c, options->ring_bytes, e);

	if (err)
		return err;
	add_build_ids(c, options->ring_bytes);
	add_births(c, options);
	*ret = TAKE(c);
	return 0;
}
