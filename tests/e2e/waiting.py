# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""C sources for tool.preloaded(): the tool or its children wait until the test goes on. Nobody waits for ever."""

WAITING = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_here(const char *word)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/go", getenv("MARK"));
	write(2, word, strlen(word));
	for (int i = 0; i < 12000 && access(path, F_OK) < 0; i++)
		usleep(10000);
}
"""

# The command, before its exec.
WAITING_EXEC = WAITING + r"""
int execvp(const char *file, char *const argv[])
{
	wait_here("waits\n");
	return execv(file, argv);
}
"""
