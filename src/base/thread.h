/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/thread.h - threads that leave signals to the main thread, which waits for them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Run work(@argument) in a new thread. All signals but SIGBUS are blocked in it: where a mapped
 * file is cut short, the thread that reads it has to handle that (elf/guard.h). Returns a negative
 * error.
 */
int thread_start(pthread_t *ret, void *(*work)(void *), void *argument);

/* The time @ns from now, as condition variables of CLOCK_MONOTONIC and thread_join_soon() want it.
 */
struct timespec thread_time(uint64_t ns);

/*
 * Wait for the end of a thread that was told to end, for half a second at most. False: it works on,
 * and needs its memory as long as we live. A foreign file may hold it up for any time.
 */
bool thread_join_soon(pthread_t thread);
