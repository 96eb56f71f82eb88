#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "tool/options.h"
#include "tool/patterns.h"
#include "tool/stackcount.h"

#ifndef VERSION
#define VERSION "0.1"
#endif

enum status { STATUS_DONE, STATUS_FAILED, STATUS_USAGE };

static int finish_output(int status)
{
	if (fflush(stdout) == 0 || errno == EPIPE)
		return status;
	log_warn("write to standard output: %s", strerror(errno));
	return STATUS_FAILED;
}

/* Missing ones are put in, or what we open would take their place. False: nobody will read us. */
static bool open_standard_files(void)
{
	bool has_output = true;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		has_output &= fd != STDOUT_FILENO;
		if (open("/dev/null", O_RDWR) != fd)
			return false;
	}
	return has_output;
}

int main(int argc, char **argv)
{
	cleanup(options_fini) struct options opt = {};
	struct error e = {};

	log_setup("stackcount", LOG_WARN);
	if (!open_standard_files()) {
		log_warn("standard output is closed");
		return STATUS_FAILED;
	}
	if (options_parse(argc, argv, &opt, &e)) {
		log_warn("%s", e.text);
		return STATUS_USAGE;
	}
	if (opt.help) {
		options_help(stdout);
		return finish_output(STATUS_DONE);
	}
	if (opt.version) {
		(void)puts("stackcount " VERSION);
		return finish_output(STATUS_DONE);
	}
	if (check_patterns(&opt, &e)) {
		log_warn("%s", e.text);
		return STATUS_USAGE;
	}
	if (opt.debug)
		log_setup("stackcount", LOG_DEBUG);

	int err = opt.list ? list_targets(&opt, &e) : count_stacks(&opt, &e);

	if (err) {
		log_warn("%s", e.text);
		return STATUS_FAILED;
	}
	return finish_output(STATUS_DONE);
}
