# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run with C functions of ours in place of libc's, and one whose processes wait until the test goes on."""

import os

from tool import build, wait_until


def preloaded(folder, source, **variables):
    """An environment in which the tool runs with the C source @source in place of libc's functions."""
    return {**os.environ, "LD_PRELOAD": str(build(folder / "instead.so", source, "-shared", "-fPIC")), **variables}


# It makes MARK/waits.PID, and waits for MARK/go; not for ever. A helper can make no file with contents, but an empty one.
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_here(const char *who)
{
	char path[4096];

	if (strcmp(getenv("WAITS"), who) != 0)
		return;
	snprintf(path, sizeof(path), "%s/waits.%d", getenv("MARK"), getpid());
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(path, sizeof(path), "%s/go", getenv("MARK"));
	for (int i = 0; i < 12000 && access(path, F_OK) < 0; i++)
		usleep(10000);
}

int prctl(int option, ...)
{
	unsigned long a[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	long result = syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);

	if (option == PR_SET_NAME)
		wait_here((const char *)a[0]);
	return result;
}

/* A finder that stays stops itself until there is another question. */
int tgkill(pid_t pid, pid_t tid, int number)
{
	int result = (int)syscall(SYS_tgkill, pid, tid, number);
	char name[16] = "";

	if (number == SIGSTOP && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "file-finder") == 0)
		wait_here(name);
	return result;
}

int execvp(const char *file, char *const argv[])
{
	wait_here("command");
	return execv(file, argv);
}
"""


def waiting(folder, who):
    """
    The environment of a run in which these wait: each helper that is called @who (src/files), before it begins (a
    finder before each question), or the "command", before its exec.
    """
    return preloaded(folder, SOURCE, MARK=str(folder), WAITS=who)


def wait_until_it_waits(folder):
    """Returns its PID."""
    return int(wait_until(lambda: list(folder.glob("waits.*")), "it does not wait")[0].suffix[1:])


def go_on(folder):
    (folder / "go").touch()


def wait_again(folder):
    """From now on. The processes that have waited before count no more."""
    for mark in folder.glob("waits.*"):
        mark.unlink()
    (folder / "go").unlink()
