/* kernel/private.h - what the files of kernel/ share; for no other room. */
#pragma once

#include "base/error.h"
#include "kernel/host.h"

struct host {
	/* NULL: the running system's */
	char *kallsyms_path;
	char *modules_path;
	char *tracefs_path;
	int tracefs_fd; /* -1: not yet asked for */
	struct kallsyms *kallsyms;
};

/*
 * Mount a file system where no one sees it (fsopen(2), Linux 5.2): nothing is
 * left behind when *@ret_fd is closed. Errors: those of the three calls.
 */
must_check int detached_mount(const char *type, int *ret_fd, struct error *e);

/* -EACCES, with the words for it. */
must_check int tracefs_unreadable(struct error *e);
