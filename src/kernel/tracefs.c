// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tracefs. It lists tracepoints (events/) and traceable functions.
 *
 * On a minimal machine, in a container or early after boot it may not be mounted. A normal mount
 * would change the machine. So we make a mount without a place, and reach its files through the
 * descriptor only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/private.h"

/* glibc has these calls since 2.36 only. Their numbers are the same on all architectures. */
#ifndef SYS_fsopen
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif

int detached_mount(const char *type, int *ret_fd, struct error *e)
{
	cleanup_close int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	if (context < 0)
		return error_errno(e, "open file system %s", type);
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_errno(e, "make file system %s", type);

	int fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		return error_errno(e, "mount file system %s", type);
	*ret_fd = fd;
	return 0;
}

/*
 * Without the mount, the mount point exists and is empty. We do not use access(2): it checks the
 * real user, and ignores the capabilities of users other than root.
 */
static int open_mounted(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstatat(fd, "events", &st, 0) < 0)
		return -1;
	return TAKE_FD(fd);
}

int tracefs_unreadable(struct error *e)
{
	return error_set(e, -EACCES,
			 "this user may not read tracefs (needs root or CAP_DAC_READ_SEARCH)");
}

int host_tracefs(struct host *host, int *ret_fd, struct error *e)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	bool is_refused = false;

	if (host->tracefs_fd < 0 && host->tracefs_path) {
		host->tracefs_fd = open_mounted(host->tracefs_path);
		if (host->tracefs_fd < 0)
			return error_errno(e, "open %s", host->tracefs_path);
	}
	for (size_t i = 0; host->tracefs_fd < 0 && i < 2; i++) {
		host->tracefs_fd = open_mounted(places[i]);
		is_refused |= host->tracefs_fd < 0 && errno == EACCES;
	}
	if (host->tracefs_fd < 0) {
		struct error why;
		int err = detached_mount("tracefs", &host->tracefs_fd, &why);

		if (err && is_refused)
			return tracefs_unreadable(e);
		if (err == -ENODEV)
			return error_set(e, err, "this kernel has no tracefs");
		if (err)
			return error_set(e, err,
					 "tracefs is not mounted (mount -t tracefs tracefs "
					 "/sys/kernel/tracing)");
		log_debug("tracefs is not mounted: using a mount of our own");
	}
	*ret_fd = host->tracefs_fd;
	return 0;
}

bool host_may_define_uprobes(struct host *host)
{
	struct error none;
	int tracefs = -1;

	if (host_tracefs(host, &tracefs, &none))
		return false;

	/* Append only: opening it for plain writing would remove the events of all users. */
	cleanup_close int fd = openat(tracefs, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	return fd >= 0;
}
