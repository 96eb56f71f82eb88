# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run with C functions of ours in place of libc's, and one that waits until the test goes on."""

import os
import subprocess

from tool import PATIENCE_S, wait_until


def preloaded(folder, source, **variables):
    """An environment in which the tool runs with the C source @source in place of libc's functions."""
    (folder / "instead.c").write_text(source)
    make = ["gcc", "-shared", "-fPIC", "-o", folder / "instead.so", folder / "instead.c"]
    subprocess.run(make, check=True, timeout=PATIENCE_S)
    return {**os.environ, "LD_PRELOAD": str(folder / "instead.so"), **variables}


# It makes MARK/waits, and waits for MARK/go; not for ever. The parser is in no sandbox yet.
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
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
	snprintf(path, sizeof(path), "%s/waits", getenv("MARK"));
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
	if (option == PR_SET_NAME && strcmp((const char *)a[0], "tables-parser") == 0)
		wait_here("parser");
	return syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

int execvp(const char *file, char *const argv[])
{
	wait_here("command");
	return execv(file, argv);
}
"""


def waiting(folder, who):
    """
    The environment of a run of which @who waits: "parser", the helper that makes tables (src/reader), before it begins,
    or "command", before its exec.
    """
    return preloaded(folder, SOURCE, MARK=str(folder), WAITS=who)


def wait_until_it_waits(folder):
    wait_until((folder / "waits").exists, "it does not wait")


def go_on(folder):
    (folder / "go").touch()
