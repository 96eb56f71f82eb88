// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "tool/run.h"

enum status { STATUS_DONE, STATUS_FAILED, STATUS_USAGE };

static int finish_output(int status)
{
	if (fflush(stdout) == 0 || errno == EPIPE)
		return status;
	log_warn("write to standard output: %s", strerror(errno));
	return STATUS_FAILED;
}

/*
 * Open /dev/null for standard descriptors that are closed, or our files would get their numbers.
 * False: standard output is closed, so nobody would read us.
 */
static bool open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
		    (fd == STDOUT_FILENO || open("/dev/null", O_RDWR) != fd))
			return false;
	}
	return true;
}

static int run_chosen_tool(const struct options *opt, struct error *e)
{
	if (opt->read)
		return read_files(opt, e);
	if (opt->list)
		return list_targets(opt, e);
	switch (opt->tool) {
	case TOOL_STACKSNOOP:
		return snoop_stacks(opt, e);
	case TOOL_FUNCCOUNT:
		return count_functions(opt, e);
	default:
		return count_stacks(opt, e);
	}
}

/*
 * glibc maps large blocks by themselves. It raises the threshold to the largest block that was
 * freed, up to 32 MiB. Larger blocks then come from heaps, which keep freed memory below the last
 * block in use: 60 MiB after some hours, in one heap for each thread.
 */
#define OWN_MAPPING_BYTES (1 << 20)

int main(int argc, char **argv)
{
	const char *name = tool_name(tool_called(argv[0]));
	cleanup(options_fini) struct options opt = {};
	struct error e = {};

	(void)mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, OWN_MAPPING_BYTES);
	(void)signal(SIGCHLD,
		     SIG_DFL); /* if our parent ignores it, the kernel reaps our children */
	log_setup(name, LOG_WARN);
	if (!open_standard_files()) {
		log_warn("standard output is closed");
		return STATUS_FAILED;
	}
	if (options_parse(argc, argv, &opt, &e)) {
		log_error(&e);
		return STATUS_USAGE;
	}
	if (opt.help) {
		options_help(opt.tool, stdout);
		return finish_output(STATUS_DONE);
	}
	if (opt.version) {
		(void)printf("%s %s\n", name, VERSION);
		return finish_output(STATUS_DONE);
	}
	if (options_check(&opt, &e)) {
		log_error(&e);
		return STATUS_USAGE;
	}
	if (opt.debug)
		log_setup(name, LOG_DEBUG);
	if (run_chosen_tool(&opt, &e)) {
		log_error(&e);
		return STATUS_FAILED;
	}
	return finish_output(STATUS_DONE);
}
