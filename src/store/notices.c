// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "store/notices.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

struct notices {
	struct ring_buffer *ring;
	notice_take *take;
	void *context;
};

static int on_record(void *context, void *data, size_t size)
{
	struct notices *n = context;

	if (size >= sizeof(struct notice) && n->take)
		n->take(n->context, data);
	return 0;
}

int notices_open(const struct object *object, struct notices **ret, struct error *e)
{
	cleanup(notices_closep) struct notices *n = xcalloc(1, sizeof(*n));

	n->ring = ring_buffer__new(object_wake_fd(object), on_record, n, NULL);
	if (!n->ring)
		return error_errno(e, "map the ring buffer");
	*ret = TAKE(n);
	return 0;
}

void notices_close(struct notices *n)
{
	if (!n)
		return;
	ring_buffer__free(n->ring);
	free(n);
}

void notices_closep(struct notices **n)
{
	notices_close(*n);
	*n = NULL;
}

int notices_fd(const struct notices *n)
{
	return ring_buffer__epoll_fd(n->ring);
}

void notices_read(struct notices *n, notice_take *take, void *context)
{
	n->take = take;
	n->context = context;
	(void)ring_buffer__consume(n->ring);
	n->take = NULL;
}
