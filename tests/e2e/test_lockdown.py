# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel lockdown: what it leaves works as ever, what it refuses is said.

The level "confidentiality" refuses the most, and stays until the kernel ends: so it is set in
guests only, and these tests are the last ones (conftest.py).
"""

import subprocess
from pathlib import Path

import pytest
from tool import GETPPID, IN_GUEST, chains, check_refused, ending, stackcount, trace, workload_path

CALLS = workload_path("calls")
USDT = workload_path("usdt")


@pytest.fixture(scope="module")
def confidentiality():
    assert IN_GUEST
    level = Path("/sys/kernel/security/lockdown")
    if not level.exists():
        subprocess.run(["mount", "-t", "securityfs", "securityfs", "/sys/kernel/security"], check=True)
    level.write_text("confidentiality")


@pytest.mark.needs("locked list")
def test_functions_are_matched_without_the_list_that_is_refused():
    result = stackcount("--debug", "-l", "vfs_rea*").ok()
    assert "vfs_read" in result.out.splitlines()
    assert "available_filter_functions" in result.err and "refused by kernel lockdown" in result.err


@pytest.mark.needs("guest", "way to kernel functions")
def test_confidentiality_leaves_tracepoints(workload, confidentiality):
    work = workload("syscalls", "getppid", 30, 20, cpus=[0, 1])
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected and result.lost == 0, result


multi = pytest.mark.needs("uprobe.multi")  # where there is none, they are single ones anyway
USER_PROBES = [
    pytest.param(f"{CALLS}:leaf", [], ("calls", 30, 20, 10), ["leaf"], id="functions"),
    pytest.param(f"{CALLS}:leaf", ["--without", "uprobe.multi"], ("calls", 30, 20, 10), ["leaf"], id="single uprobes", marks=multi),
    pytest.param(f"u:{USDT}:gated", [], ("usdt", 30), ["fire_gated"], id="USDT"),
]


@pytest.mark.needs("guest", "uprobes", "way to kernel functions")
@pytest.mark.parametrize("pattern,options,program,hit", USER_PROBES)
def test_confidentiality_leaves_user_probes(workload, confidentiality, pattern, options, program, hit):
    work = workload(*program)
    result, expected = trace(work, "-f", *options, "-p", work.pid, pattern)
    assert chains(result.ok()) == ending(expected, *hit) != {}, result


@pytest.mark.needs("guest", "kprobes", "no kprobe.multi")
@pytest.mark.parametrize("pattern", ["vfs_read", "vfs_rea*"])
def test_confidentiality_refuses_kprobes(confidentiality, pattern):
    others = r"tracepoints \(t:...\), user functions \(LIB:FUNC\) and USDT probes \(u:LIB:PROBE\) work"
    check_refused(stackcount(pattern), 1, r"kernel lockdown \(confidentiality\) refuses kprobes", others)


@pytest.mark.needs("guest", "way to kernel functions")
def test_confidentiality_refuses_to_follow_a_command(confidentiality):
    result = stackcount(GETPPID, "--", workload_path("syscalls"), "getppid", "1", "0")
    check_refused(result, 1, "follow the command's processes", r"kernel lockdown \(confidentiality\)", "-p PID")
