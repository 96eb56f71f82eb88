# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that the kernel refuses: large ones are loaded in threads, the others by libbpf."""

import os
import subprocess

import pytest
from tool import GETPPID, stackcount

# Says EACCES in the kernel's place to the first MOST loads of the program NAME.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static int n;

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list all;

	va_start(all, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(all, long);
	va_end(all);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD &&
	    strcmp(((union bpf_attr *)a[1])->prog_name, getenv("NAME")) == 0 && n++ < atoi(getenv("MOST"))) {
		errno = EACCES;
		return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


@pytest.fixture(scope="module")
def refuse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refuse")
    (folder / "refuse.c").write_text(SOURCE)
    make = ["gcc", "-shared", "-fPIC", "-o", folder / "refuse.so", folder / "refuse.c", "-ldl"]
    subprocess.run(make, check=True, timeout=60)

    def environment(name, most):
        return {**os.environ, "LD_PRELOAD": str(folder / "refuse.so"), "NAME": name, "MOST": str(most)}

    return environment


@pytest.mark.parametrize("name", ["on_tracepoint", "on_reserved"])
def test_a_program_that_is_refused_is_named(refuse, name):
    result = stackcount("-D", 0.1, GETPPID, env=refuse(name, 1000))
    assert result.status == 1, result
    assert f"Permission denied: prog '{name}': BPF program load failed: Permission denied" in result.err, result


def test_what_is_refused_once_is_loaded_again(refuse):
    result = stackcount("--debug", "-D", 0.1, GETPPID, env=refuse("on_tracepoint", 1))
    assert "program on_tracepoint: verified" in result.ok().err, result
