// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions that ftrace can trace: those that were compiled with a place to patch.
 *
 *	available_filter_functions          available_filter_functions_addrs (Linux 6.5)
 *	vfs_read                            ffffffff8162fb94 vfs_read
 *	ext4_get_branch [ext4]              ffffffffc0401004 ext4_get_branch [ext4]
 *
 * The address is that of the patched place. It may lie behind the function's first instruction, a
 * landing pad of indirect branches.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/read.h"
#include "kernel/host.h"

/* Parse a line in place. False: it names no function. */
static bool parse_traceable(char *line, bool has_addr, char **ret_name, const char **ret_module,
			    uint64_t *ret_addr)
{
	const char *at = line;

	*ret_addr = 0;
	if (has_addr && (!take_hex(&at, ret_addr) || *at++ != ' '))
		return false;

	char *name = line + (at - line);
	char *space = strchr(name, ' ');

	*ret_name = name;
	*ret_module = "";
	if (space) {
		*space = '\0';
		if (space[1] != '[')
			return false;

		char *end = strchr(space + 2, ']');

		if (!end)
			return false;
		*end = '\0';
		*ret_module = space + 2;
	}
	/* The compiler left this in a weak function that the linker dropped. */
	return name[0] != '\0' && strncmp(name, "__ftrace_invalid_address___", 27) != 0;
}

int host_each_traceable(struct host *host, bool with_sites, host_function_visit *visit,
			void *context, struct error *e)
{
	const char *file = "available_filter_functions_addrs";
	int dir, err = host_tracefs(host, &dir, e);

	if (err)
		return err;

	cleanup_close int fd = with_sites ? openat(dir, file, O_RDONLY | O_CLOEXEC) : -1;
	bool has_addr = fd >= 0;

	if (!with_sites || (fd < 0 && errno == ENOENT)) {
		file = "available_filter_functions";
		fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0 && errno == EPERM && host_lockdown())
		return error_set(e, -EPERM, "open tracefs' %s: refused by kernel lockdown", file);
	if (fd < 0)
		return error_errno(e, "open tracefs' %s", file);

	cleanup_lines struct lines lines;
	lines_init(&lines, fd, file);

	char *line, *name;
	const char *module;
	uint64_t addr;
	size_t n;
	int more;

	while ((more = lines_next(&lines, &line, &n, e)) > 0) {
		if (!parse_traceable(line, has_addr, &name, &module, &addr))
			continue;
		err = visit(context, name, module, addr);
		if (err)
			return err;
	}
	return more;
}
