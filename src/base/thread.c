// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/thread.h"

#include <signal.h>

#include "base/clock.h"

int thread_start(pthread_t *ret, void *(*work)(void *), void *argument)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);

	const int err = pthread_create(ret, NULL, work, argument);

	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

bool thread_join_soon(pthread_t thread)
{
	const uint64_t at = clock_ns(CLOCK_MONOTONIC) + NS_PER_S / 2;
	const struct timespec until = { .tv_sec = (time_t)(at / NS_PER_S),
					.tv_nsec = (long)(at % NS_PER_S) };

	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}
