/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel/private.h - shared by the files of kernel/. No other room includes it. */
#pragma once

#include "base/error.h"
#include "kernel/host.h"

struct host {
	/* NULL: the running system's */
	char *kallsyms_path;
	char *modules_path;
	char *tracefs_path;
	int tracefs_fd; /* -1: not opened yet */
	struct kallsyms *kallsyms;
	struct function_types *types; /* NULL: not read yet */
};

/*
 * Mount a file system where nobody sees it (fsopen(2), Linux 5.2). The mount ends when *@ret_fd is
 * closed. Errors: those of the three calls.
 */
must_check int detached_mount(const char *type, int *ret_fd, struct error *e);

/* Set @e to the message for an unreadable tracefs. Returns -EACCES. */
must_check int tracefs_unreadable(struct error *e);
