// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The system calls that attach, and links of many places. */
#include "attach/backend.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/features.h"
#include "bpf/syscall.h"

/* --- system calls --- */

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

/* --- batches --- */

/*
 * The kernel takes a batch as a whole or not at all, and does not name the place that it refused.
 * So a refused batch is halved until a single place is refused. Its target is left out; all others
 * are attached. One refused place among 2,048 costs 12 refused attempts, and 11 links instead of
 * one. So backends keep suspicious places out of a batch where they can.
 */

#define MAX_DEPTH 66 /* a range waits beside at most one half of each size */

/*
 * Would smaller batches meet this refusal as well? It concerns the program, the user or the system.
 */
static bool is_about_whole_batch(int code)
{
	return code == -EPERM || code == -EACCES || code == -EMFILE || code == -ENFILE ||
	       code == -EBADF || code == -ENOMEM || code == -EFAULT;
}

struct link_places batch_range(const struct batch *b, size_t first, size_t n)
{
	return (struct link_places){
		.places = b->places ? b->places + first : NULL,
		.symbols = b->symbols ? b->symbols + first : NULL,
		.semaphores = b->semaphores ? b->semaphores + first : NULL,
		.cookies = b->cookies ? b->cookies + first : NULL,
		.n = n,
	};
}

/* Attach [first, first + n) by one link. Returns 0 or the refusal. */
static int try_link_of_range(const struct batch *b, size_t first, size_t n)
{
	int code = b->link(b, first, n);

	if (code < 0)
		return code;
	for (size_t i = 0; i < n; i++)
		attaching_note(b->at, b->targets[first + i], 0);
	return 0;
}

bool batch_attach_whole(const struct batch *b, size_t n)
{
	return try_link_of_range(b, 0, n) == 0;
}

void batch_attach(const struct batch *b, size_t n)
{
	struct range {
		size_t first;
		size_t n;
	} waiting[MAX_DEPTH] = { { 0, n } };
	size_t n_waiting = n ? 1 : 0;

	while (n_waiting) {
		struct range r = waiting[--n_waiting];
		int code = try_link_of_range(b, r.first, r.n);

		if (code == 0)
			continue;
		if (r.n == 1 || is_about_whole_batch(code)) {
			for (size_t i = 0; i < r.n; i++)
				attaching_note(b->at, b->targets[r.first + i], code);
			continue;
		}
		assert(n_waiting + 2 <= MAX_DEPTH);
		waiting[n_waiting++] = (struct range){ r.first + r.n / 2, r.n - r.n / 2 };
		waiting[n_waiting++] = (struct range){ r.first, r.n / 2 };
	}
}
