// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The system calls that attach, and links of many places. */
#include "attach/backend.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/syscall.h"
#include "base/memory.h"

/* --- system calls --- */

/* Make a link, and hand it over to the attachment. */
static int add_link(struct attachment *a, enum bpf_cmd cmd, const void *attr, unsigned size)
{
	const int link = sys_bpf(cmd, attr, size);

	if (link < 0)
		return -errno;
	array_push(a->links, a->n_links, a->links_capacity, link);
	return 0;
}

/* The number by which programs know @target. */
static uint64_t number_of(const struct attachment *a, uint32_t target)
{
	return a->scope.numbers ? a->scope.numbers[target] : target;
}

/*
 * EINTR is also the answer, each time, for a uprobe event that ftrace has enabled
 * (probe_event_enable()).
 */
int link_open_event(const struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = -1;

	errno = EINTR;
	for (int tries = 0; fd < 0 && errno == EINTR && tries < 10; tries++)
		fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int link_event(struct attachment *a, int event, enum object_program program, uint32_t target)
{
	const union bpf_attr attr = {
		.link_create = {
			.prog_fd = (unsigned)object_program_fd(a->object, program),
			.target_fd = (unsigned)event,
			.attach_type = BPF_PERF_EVENT,
			.perf_event = { .bpf_cookie = number_of(a, target) },
		},
	};

	return event < 0 ? event : add_link(a, BPF_LINK_CREATE, &attr, sizeof(attr));
}

int link_raw_tracepoint(struct attachment *a, const char *name, enum object_program program)
{
	const union bpf_attr attr = {
		.raw_tracepoint = {
			.name = (uintptr_t)name,
			.prog_fd = (unsigned)object_program_fd(a->object, program),
		},
	};

	return add_link(a, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
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

	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0)
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
 * one.
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

struct batch batch_make(struct attachment *a, enum object_program program, const char *path,
			size_t capacity)
{
	struct batch b = { .a = a, .program = program, .path = path };

	b.targets = xcalloc(capacity, sizeof(*b.targets));
	b.places = xcalloc(capacity, sizeof(*b.places));
	b.symbols = xcalloc(capacity, sizeof(*b.symbols));
	b.semaphores = xcalloc(capacity, sizeof(*b.semaphores));
	b.cookies = xcalloc(capacity, sizeof(*b.cookies));
	return b;
}

void batch_fini(struct batch *b)
{
	free(b->targets);
	free(b->places);
	free(b->symbols);
	free(b->semaphores);
	free(b->cookies);
}

void batch_add(struct batch *b, uint32_t target)
{
	const struct target *t = &b->a->targets[target];

	b->targets[b->n] = target;
	b->places[b->n] = b->path ? t->offset : t->addr;
	b->symbols[b->n] = t->symbol;
	b->semaphores[b->n] = t->semaphore;
	b->cookies[b->n] = number_of(b->a, target);
	b->n++;
}

/* Attach places [first, first + n) by one link. Returns 0 or the refusal. */
static int link_range(const struct batch *b, size_t first, size_t n)
{
	const uint64_t cookies = (uintptr_t)(b->cookies + first);
	const unsigned prog_fd = (unsigned)object_program_fd(b->a->object, b->program);
	const struct uapi_uprobe_multi in_file = {
		.prog_fd = prog_fd,
		.attach_type = ABI_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)b->path,
		.offsets = (uintptr_t)(b->places + first),
		.ref_counter_offsets = (uintptr_t)(b->semaphores + first),
		.cookies = cookies,
		.cnt = (unsigned)n,
		.pid = b->pid,
	};
	const union bpf_attr in_kernel = {
		.link_create = {
			.prog_fd = prog_fd,
			.attach_type = BPF_TRACE_KPROBE_MULTI,
			.kprobe_multi = {
				.flags = b->program == PROGRAM_KRETURN ? UAPI_KPROBE_MULTI_RETURN : 0,
				.cnt = (unsigned)n,
				.addrs = b->by_symbol ? 0 : (uintptr_t)(b->places + first),
				.syms = b->by_symbol ? (uintptr_t)(b->symbols + first) : 0,
				.cookies = cookies,
			},
		},
	};
	const int code = b->path ? add_link(b->a, BPF_LINK_CREATE, &in_file, sizeof(in_file))
				 : add_link(b->a, BPF_LINK_CREATE, &in_kernel, sizeof(in_kernel));

	for (size_t i = 0; i < n && !code; i++)
		attachment_note(b->a, b->targets[first + i], 0);
	return code;
}

bool batch_attach_whole(const struct batch *b)
{
	return link_range(b, 0, b->n) == 0;
}

void batch_attach(const struct batch *b)
{
	struct range {
		size_t first;
		size_t n;
	} waiting[MAX_DEPTH] = { { 0, b->n } };
	size_t n_waiting = b->n ? 1 : 0;

	while (n_waiting) {
		struct range r = waiting[--n_waiting];
		int code = link_range(b, r.first, r.n);

		if (code == 0)
			continue;
		if (r.n == 1 || is_about_whole_batch(code)) {
			for (size_t i = 0; i < r.n; i++)
				attachment_note(b->a, b->targets[r.first + i], code);
			continue;
		}
		assert(n_waiting + 2 <= MAX_DEPTH);
		waiting[n_waiting++] = (struct range){ r.first + r.n / 2, r.n - r.n / 2 };
		waiting[n_waiting++] = (struct range){ r.first, r.n / 2 };
	}
}
