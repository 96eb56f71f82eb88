// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, void *(*work)(void *), void *argument)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);

	const int err = pthread_create(ret, NULL, work, argument);

	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}
