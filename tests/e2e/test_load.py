# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that the kernel refuses, and kernels that lack what all programs need."""

import re

from kernel import with_mounts
from tool import GETPPID, check_refused, stackcount
from waiting import preloaded

# Says EACCES in the kernel's place to each load of the program NAME. As on an older kernel, helper number UNKNOWN is none.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static void forget_helper(union bpf_attr *attr, int helper)
{
	struct bpf_insn *insns = malloc(attr->insn_cnt * sizeof(*insns)); /* of the tool's life */

	memcpy(insns, (void *)attr->insns, attr->insn_cnt * sizeof(*insns));
	for (unsigned i = 0; i < attr->insn_cnt; i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg && insns[i].imm == helper)
			insns[i].imm = 1 << 20;
	attr->insns = (unsigned long)insns;
}

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
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && getenv("UNKNOWN"))
		forget_helper((union bpf_attr *)a[1], atoi(getenv("UNKNOWN")));
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def test_a_program_that_is_refused_is_named(tmp_path):
    name = "on_tracepoint"
    result = stackcount("-D", 0.1, GETPPID, env=preloaded(tmp_path, SOURCE, NAME=name))
    assert result.status == 1, result
    assert f"Permission denied: prog '{name}': BPF program load failed: Permission denied" in result.err, result


def test_a_kernel_that_lacks_what_all_programs_need_is_told_so_once(tmp_path):
    result = stackcount(GETPPID, env=preloaded(tmp_path, SOURCE, UNKNOWN="181"))
    check_refused(result, 1, re.escape("this kernel has no bpf_loop() (Linux 5.17 or later is needed)") + "$")
    result = stackcount(GETPPID, wrap=with_mounts("mount -t tmpfs none /sys/kernel/btf || exit 99\n"))
    lacks = "this kernel has no BTF in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF; is /sys mounted?)"
    check_refused(result, 1, re.escape(lacks) + "$")


def test_a_refused_trial_is_no_lack(tmp_path):
    """Programs without a name are those that try what the kernel can."""
    result = stackcount("-D", 0.1, GETPPID, env=preloaded(tmp_path, SOURCE, NAME=""))
    assert "this kernel has no" not in result.err, result
