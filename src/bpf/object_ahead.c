// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/object_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "bpf/libbpf_words.h"
#include "stackcount.skel.h"

struct object_ahead {
	pthread_t thread;
	bool is_running;
	struct stackcount_bpf *skeleton;
};

static void *open_in_thread(void *argument)
{
	struct object_ahead *a = argument;

	a->skeleton = stackcount_bpf__open();
	return NULL;
}

struct object_ahead *object_ahead_begin(void)
{
	struct object_ahead *a = xcalloc(1, sizeof(*a));

	libbpf_words_begin();
	a->is_running = thread_start(&a->thread, open_in_thread, a) == 0;
	if (a->is_running)
		return a;
	free(a);
	return NULL;
}

static struct stackcount_bpf *wait_for_file(struct object_ahead *a)
{
	if (a && a->is_running)
		(void)pthread_join(a->thread, NULL);
	if (!a)
		return NULL;
	a->is_running = false;
	return TAKE(a->skeleton);
}

/* If the thread failed, a second attempt gives the reason. */
struct stackcount_bpf *object_ahead_take(struct object_ahead *a)
{
	struct stackcount_bpf *skeleton = wait_for_file(a);

	libbpf_words_begin();
	return skeleton ? skeleton : stackcount_bpf__open();
}

void object_ahead_free(struct object_ahead *a)
{
	stackcount_bpf__destroy(wait_for_file(a));
	free(a);
}
