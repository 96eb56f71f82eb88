// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/log.h"

int ready_check(uint64_t fd, struct error *e)
{
	if (!fd)
		return 0;

	const int flags = fcntl((int)fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return error_set(e, -EBADF,
				 "--ready-fd: descriptor %" PRIu64 " is not open for writing", fd);
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return error_errno(e, "--ready-fd");
	return 0;
}

/* It is no error if nobody reads the line. */
static void write_ready_line(void *context)
{
	const struct ready *ready = context;

	if (write((int)ready->fd, "\n", 1) != 1)
		log_debug("--ready-fd: nobody reads descriptor %" PRIu64, ready->fd);
	(void)close((int)ready->fd);
}

void ready_tell(struct ready *ready, struct unwinder *u)
{
	if (!ready->fd || ready->is_asked)
		return;
	ready->is_asked = true;
	if (u)
		unwinder_then(u, write_ready_line, ready);
	else
		write_ready_line(ready);
}
