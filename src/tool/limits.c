// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tool/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "tool/run.h"

/*
 * The fewest descriptors of a run: programs, maps, one probe, timers and other sources of wake-ups.
 * User stacks need 12 for more maps and for files of processes, and 28 for helpers: each of three
 * lanes has four, and each helper two (tool/helpers.c). A command needs programs that follow it.
 * When all probes are in place, limits_check_rest() counts how many this kernel really needs.
 */
#define FEWEST_FILES 52
#define MORE_FILES_OF_USER_STACKS 40
#define MORE_FILES_OF_COMMAND 11

/* More than names ever keep open (processes/images.c), plus the side-band events of 512 CPUs. */
#define PLENTY_OF_FILES 4096

static int refuse_limit(rlim_t limit, rlim_t least, struct error *e)
{
	return error_set(e, -EMFILE,
			 "the limit of open files is %llu; this run needs %llu (see ulimit -Hn)",
			 (unsigned long long)limit, (unsigned long long)least);
}

int limits_check(const struct run *r, struct error *e)
{
	const rlim_t least = FEWEST_FILES + (run_wants_helpers(r) ? MORE_FILES_OF_USER_STACKS : 0) +
			     (r->opt->command ? MORE_FILES_OF_COMMAND : 0);
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= least)
		return 0;
	return refuse_limit(files.rlim_max, least, e);
}

void limits_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

int limits_check_rest(const struct run *r, struct error *e)
{
	struct rlimit files;
	size_t n;

	if (!run_wants_helpers(r) || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 0;
	n = files_free(FILES_OF_REST);
	return n < FILES_OF_REST
		       ? refuse_limit(files.rlim_cur, files.rlim_cur + FILES_OF_REST - n, e)
		       : 0;
}

size_t limits_files_of_names(void)
{
	struct rlimit files;
	cleanup_close int lowest = -1;
	size_t n;

	(void)files_hold(&lowest, 1);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 ||
	    (lowest >= 0 && files.rlim_cur >= (rlim_t)lowest + PLENTY_OF_FILES))
		return SIZE_MAX;
	n = files_free(PLENTY_OF_FILES);
	return n > FILES_OF_REST ? n - FILES_OF_REST : 1;
}
