// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * uring N - an io_uring with a thread of the kernel's that looks for requests (SQPOLL); N requests
 * to write a byte, which another such thread carries out (ASYNC). Each comes when the first one
 * has gone to sleep.
 */
#include <linux/io_uring.h>
#include <sys/mman.h>

#include "work.h"

#define ENTRIES 4

static uint64_t n;
static int file;

struct ring {
	int fd;
	uint32_t *sq_tail, *sq_flags, *sq_array, *cq_head, *cq_tail;
	struct io_uring_sqe *requests;
	struct io_uring_cqe *done;
	uint32_t mask;
};

static void require(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static void *map(const struct ring *r, size_t size, off_t what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);

	require(at != MAP_FAILED, "mmap");
	return at;
}

static void open_ring(struct ring *r)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1 };
	char *sq, *cq;

	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	require(r->fd >= 0, "io_uring_setup");
	sq = map(r, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	cq = map(r, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	r->requests = map(r, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	r->sq_tail = (uint32_t *)(sq + p.sq_off.tail);
	r->sq_flags = (uint32_t *)(sq + p.sq_off.flags);
	r->sq_array = (uint32_t *)(sq + p.sq_off.array);
	r->cq_head = (uint32_t *)(cq + p.cq_off.head);
	r->cq_tail = (uint32_t *)(cq + p.cq_off.tail);
	r->done = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	r->mask = p.cq_entries - 1;
}

static void enter(const struct ring *r, uint32_t n_wanted, uint32_t flags)
{
	require(syscall(SYS_io_uring_enter, r->fd, 0, n_wanted, flags, NULL, 0) >= 0,
		"io_uring_enter");
}

static void submit(struct ring *r, const struct io_uring_sqe *request)
{
	const uint32_t tail = *r->sq_tail;

	r->requests[tail % ENTRIES] = *request;
	r->sq_array[tail % ENTRIES] = tail % ENTRIES;
	while (!(__atomic_load_n(r->sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP))
		usleep(1000);
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_SEQ_CST);
	enter(r, 0, IORING_ENTER_SQ_WAKEUP);
}

FRAME static void write_byte(struct ring *r)
{
	const struct io_uring_sqe request = { .opcode = IORING_OP_WRITE,
					      .flags = IOSQE_ASYNC,
					      .fd = file,
					      .addr = (uint64_t) "x",
					      .len = 1 };
	uint32_t head = *r->cq_head;

	submit(r, &request);
	while (__atomic_load_n(r->cq_tail, __ATOMIC_SEQ_CST) == head)
		enter(r, 1, IORING_ENTER_GETEVENTS);
	require(r->done[head & r->mask].res == 1, "write");
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_SEQ_CST);
}

FRAME static void run(void)
{
	struct ring r;

	open_ring(&r);
	for (uint64_t i = 0; i < n; i++)
		write_byte(&r);
	close(r.fd);
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	file = (int)syscall(SYS_memfd_create, "written", 0);
	require(file >= 0, "memfd_create");
	work_run(run);
	return 0;
}
