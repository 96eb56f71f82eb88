// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ring CATEGORY EVENT PID PID - attach the program of ring.bpf.c to a tracepoint for two processes,
 * and print "live". Until standard input ends, read the ring each millisecond and drop the records.
 * Then print the number of records, and of lost ones. tracefs must be mounted.
 */
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring.skel.h"

static int take(void *context, void *record, size_t size)
{
	(void)record;
	(void)size;
	++*(uint64_t *)context;
	return 0;
}

int main(int argc, char **argv)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };
	struct ring_buffer *ring;
	struct ring_bpf *s;
	uint64_t n = 0;

	if (argc != 5)
		return 2;
	s = ring_bpf__open();
	if (!s)
		return 1;
	for (int i = 0; i < 2; i++)
		s->rodata->pids[i] = (__u32)atoi(argv[3 + i]);
	ring = !ring_bpf__load(s) ? ring_buffer__new(bpf_map__fd(s->maps.ring), take, &n, NULL)
				  : NULL;
	if (!ring || !bpf_program__attach_tracepoint(s->progs.record_stacks, argv[1], argv[2]))
		return 1;
	(void)fputs("live\n", stderr);
	while (poll(&end, 1, 1) == 0)
		(void)ring_buffer__consume(ring);
	(void)ring_buffer__consume(ring);
	(void)fprintf(stderr, "records %" PRIu64 " lost %" PRIu64 "\n", n, (uint64_t)s->bss->lost);
	return 0;
}
