// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * leader A B - a thread that outlives the first one: A hits before that has ended; "ended" is said,
 * and a line waited for; B hits.
 */
#include <pthread.h>

#include "work.h"

static uint64_t n_a, n_b;
static pthread_t first;
static pthread_barrier_t barrier;

FRAME static void hit(void) CALLS(GETPPID());

FRAME static void before(void) CALLS(hit());

FRAME static void after(void) CALLS(hit());

FRAME static void *work_thread(void *unused)
{
	for (uint64_t i = 0; i < n_a; i++)
		before();
	(void)pthread_barrier_wait(&barrier);
	(void)pthread_join(first, NULL);
	(void)puts("ended");
	work_pause();
	for (uint64_t i = 0; i < n_b; i++)
		after();
	STAY();
	exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	argv = work_begin(argc, argv, 2, "A B");
	n_a = work_number(argv[0]);
	n_b = work_number(argv[1]);
	first = pthread_self();
	(void)pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, work_thread, NULL) != 0)
		return 1;
	(void)pthread_barrier_wait(&barrier);
	pthread_exit(NULL);
}
