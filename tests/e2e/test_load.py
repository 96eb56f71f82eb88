# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that the kernel refuses, and kernels that lack what all programs need."""

import re

from kernel import with_mounts
from tool import GETPPID, check_refused, stackcount
from waiting import preloaded

# Says EACCES in the kernel's place to each load of the program NAME. To trials that want words, it says REFUSAL, as an
# older kernel's verifier.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list all;

	va_start(all, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(all, long);
	va_end(all);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && getenv("NAME") &&
	    strcmp(((union bpf_attr *)a[1])->prog_name, getenv("NAME")) == 0) {
		errno = EACCES;
		return -1;
	}
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && getenv("REFUSAL") && ((union bpf_attr *)a[1])->log_buf) {
		strcpy((char *)((union bpf_attr *)a[1])->log_buf, getenv("REFUSAL"));
		errno = EINVAL;
		return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def test_a_program_that_is_refused_is_named(tmp_path):
    name = "on_tracepoint"
    result = stackcount("-D", 0.1, GETPPID, env=preloaded(tmp_path, SOURCE, NAME=name))
    assert result.status == 1, result
    assert f"Permission denied: prog '{name}': BPF program load failed: Permission denied" in result.err, result


def test_a_kernel_that_lacks_what_all_programs_need_is_told_so_once(tmp_path):
    refusal = "perf_event programs can only use preallocated hash map"
    result = stackcount(GETPPID, env=preloaded(tmp_path, SOURCE, REFUSAL=refusal))
    lacks = "this kernel has no hash maps that grow on demand (Linux 6.1 or later is needed)"
    check_refused(result, 1, re.escape(lacks) + "$")
    without_btf = with_mounts("mount -t tmpfs none /sys/kernel/btf || exit 99\n")
    lacks = "this kernel has no BTF in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF; is /sys mounted?)"
    check_refused(stackcount(GETPPID, wrap=without_btf), 1, re.escape(lacks) + "$")
    assert not stackcount("-l", "c:malloc", wrap=without_btf).ok().err


def test_a_refused_trial_is_no_lack(tmp_path):
    """Programs without a name are those that try what the kernel can, and libbpf's own trial, behind ours, which ends the run."""
    result = stackcount("-D", 0.1, GETPPID, env=preloaded(tmp_path, SOURCE, NAME=""))
    assert "load the BPF programs: Permission denied" in result.err and "this kernel has no" not in result.err, result
