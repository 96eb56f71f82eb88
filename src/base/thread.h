/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/thread.h - threads that block signals, so the main thread gets them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Run work(@argument) in a new thread, which blocks all signals. Returns 0 or a negative errno. */
int thread_start(pthread_t *ret, void *(*work)(void *), void *argument);

/*
 * Wait at most half a second for a thread that was asked to end. False: it is still at work, maybe
 * held up by a foreign file, so its memory has to stay until we exit.
 */
bool thread_join_soon(pthread_t thread);
