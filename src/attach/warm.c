// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel registers a uprobe with dup_mmap_sem taken for writing (kernel/events/uprobes.c). That
 * is a per-CPU semaphore. Its first writer in a while waits for an RCU grace period
 * (rcu_sync_enter()). Our file is in memory, and nobody maps it.
 */
#include "attach/warm.h"

#include <linux/perf_event.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/link.h"
#include "base/cleanup.h"
#include "base/thread.h"

/*
 * Removing the uprobe takes the kernel long, and holds event_mutex. All who attach to tracepoints
 * or read their formats wait for that, so the uprobe stays until all probes are in place.
 */
static sem_t is_warm;
static bool is_warming;

static void *place_and_remove_uprobe(void *argument)
{
	cleanup_close int file = memfd_create("stackcount", MFD_CLOEXEC);
	struct perf_event_attr attr = { .type = (uint32_t)(uintptr_t)argument,
					.size = sizeof(attr) };
	char path[32];

	if (file < 0 || ftruncate(file, sysconf(_SC_PAGESIZE)) < 0)
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	attr.config1 = (uintptr_t)path;

	cleanup_close int event = link_open_event(&attr, -1);

	while (sem_wait(&is_warm) != 0)
		;
	return NULL;
}

void warm_uprobes(uint32_t pmu)
{
	pthread_t thread;

	is_warming = sem_init(&is_warm, 0, 0) == 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a number handed over */
	if (thread_start(&thread, place_and_remove_uprobe, (void *)(uintptr_t)pmu) == 0)
		(void)pthread_detach(thread);
}

void warm_end(void)
{
	if (is_warming)
		(void)sem_post(&is_warm);
}
