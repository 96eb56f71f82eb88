/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * files/zygote.h - the process that makes a child for each question about a foreign file, and
 * reports its end.
 *
 * The main process forks it before it opens anything. So the zygote has no BPF descriptor, no
 * thread and no secret. Neither have its children. It executes no program, so it works for a
 * deleted binary, in a static one, and in a sandbox that forbids execve.
 *
 * It shares its table of descriptors with finders that hold files. A handle (O_PATH) that such a
 * finder leaves there outlives the finder, and the main process names it by its number. The kernel
 * asks no file system to close such a handle. Other children have copies of the table.
 *
 * It ends with the main process, and all children end with it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "files/child.h"

/* Each thread has a socket of its own to the zygote, and so has each purpose (files.h). */
#define ZYGOTE_ASKERS 3

struct zygote {
	pid_t pid;
	int controls[ZYGOTE_ASKERS]; /* -1: taken */
};

#define ZYGOTE_NONE                        \
	(struct zygote)                    \
	{                                  \
		.controls = { -1, -1, -1 } \
	}

/* Handles have this number or a higher one. Lower ones belong to the zygote. */
#define FIRST_HANDLE 16
#define MOST_HANDLES 65536

/*
 * A child that has not ended so long after it was killed hangs in a file system. It is left behind.
 * With ZYGOTE_MOST_LEFT of them the zygote makes no more children.
 */
#define ZYGOTE_LEFT_AFTER_NS 200000000ULL
#define ZYGOTE_MOST_LEFT 4

/*
 * Fork the zygote. Its children do @work. The process may have only one thread. Errors: those of
 * fork(2) and socketpair(2).
 */
must_check int zygote_start(child_work *work, struct zygote *ret, struct error *e);

/*
 * Close the sockets that are not taken. The zygote ends when all are closed. Nobody waits for it.
 */
void zygote_fini(struct zygote *z);
