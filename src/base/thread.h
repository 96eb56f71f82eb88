/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base/thread.h - threads that leave signals to the main thread, which waits for them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/*
 * Run work(@argument) in a new thread. All signals but SIGBUS are blocked in it: where a mapped
 * file is cut short, the thread that reads it has to handle that (elf/guard.h). Returns a negative
 * error.
 */
int thread_start(pthread_t *ret, void *(*work)(void *), void *argument);
