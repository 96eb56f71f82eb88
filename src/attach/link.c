// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "attach/link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/features.h"
#include "bpf/uapi.h"

static int bpf_or_errno(enum bpf_cmd cmd, const void *attr, unsigned size)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, size);

	return fd < 0 ? -errno : fd;
}

/*
 * EINTR is also the answer, each time, for a uprobe event that ftrace has enabled
 * (probe_event_enable()).
 */
static int open_event(const struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = -1;

	errno = EINTR;
	for (int tries = 0; fd < 0 && errno == EINTR && tries < 10; tries++)
		fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A probe's event for all processes belongs to one CPU. Its BPF program runs on all CPUs.
 */
int link_open_event(const struct perf_event_attr *attr, int pid)
{
	return open_event(attr, pid, pid < 0 ? 0 : -1);
}

int link_open_event_on(const struct perf_event_attr *attr, uint32_t cpu)
{
	return open_event(attr, -1, (int)cpu);
}

int link_to_event(int event_fd, int prog_fd, uint64_t cookie)
{
	const union bpf_attr attr = {
		.link_create = {
			.prog_fd = (unsigned)prog_fd,
			.target_fd = (unsigned)event_fd,
			.attach_type = BPF_PERF_EVENT,
			.perf_event = { .bpf_cookie = cookie },
		},
	};

	return bpf_or_errno(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int link_kprobe_multi(int prog_fd, const struct link_places *to, bool is_return)
{
	const union bpf_attr attr = {
		.link_create = {
			.prog_fd = (unsigned)prog_fd,
			.attach_type = BPF_TRACE_KPROBE_MULTI,
			.kprobe_multi = {
				.flags = is_return ? UAPI_KPROBE_MULTI_RETURN : 0,
				.cnt = (unsigned)to->n,
				.addrs = (uintptr_t)to->places,
				.syms = (uintptr_t)to->symbols,
				.cookies = (uintptr_t)to->cookies,
			},
		},
	};

	return bpf_or_errno(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int link_uprobe_multi(int prog_fd, const char *path, const struct link_places *to, uint32_t pid)
{
	const struct uapi_uprobe_multi attr = {
		.prog_fd = (unsigned)prog_fd,
		.attach_type = ABI_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)to->places,
		.ref_counter_offsets = (uintptr_t)to->semaphores,
		.cookies = (uintptr_t)to->cookies,
		.cnt = (unsigned)to->n,
		.pid = pid,
	};

	return bpf_or_errno(BPF_LINK_CREATE, &attr, sizeof(attr));
}

uint64_t link_missed(int link_fd)
{
	struct uapi_link_info info = {};
	const union bpf_attr attr = {
		.info = {
			.bpf_fd = (unsigned)link_fd,
			.info_len = sizeof(info),
			.info = (uintptr_t)&info,
		},
	};

	if (bpf_or_errno(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0)
		return 0;
	if (info.type == BPF_LINK_TYPE_KPROBE_MULTI)
		return info.kprobe_multi.missed;
	if (info.type == BPF_LINK_TYPE_PERF_EVENT &&
	    (info.perf_kprobe.type == UAPI_PERF_EVENT_KPROBE ||
	     info.perf_kprobe.type == UAPI_PERF_EVENT_KRETPROBE))
		return info.perf_kprobe.missed;
	return 0;
}
