# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Printed counts and losses add up to exactly the hits made, for every kind of event."""


import os
import re

import pytest
from text import parse_text
from tool import GETPPID, IN_GUEST, PATIENCE_S, Tool, chains, ending
from tool import read_folded, scaled, trace, workload_path

pytestmark = pytest.mark.needs("uprobes")
own_path = pytest.mark.needs("path of its own")


def total(result):
    return sum(count for _, count in read_folded(result.out))


def check(result, expected):
    """Every chain has its own count, nothing else was printed, nothing lost."""
    result.ok()
    assert result.lost == 0, result
    assert chains(result) == expected, result
    assert total(result) == sum(expected.values()), result


# The kernel counts no hit on a CPU while a system call of ours on a map is preempted there.
PREEMPTED = r"Lost (\d+) hits: \1 another BPF program was running on the CPU\n"


def check_preempted(result, expected):
    """The same, but for such hits. The real-time kernel preempts these calls, so some may be lost."""
    result.ok()
    lost = re.search(PREEMPTED, result.err)
    assert result.lost == (int(lost[1]) if lost else 0), result
    assert total(result) + result.lost == sum(expected.values()), result
    assert all(n <= expected[chain] for chain, n in chains(result).items()), result


def test_tracepoint_three_million_hits_on_two_cpus(workload):
    half = scaled(750_000)
    work = workload("syscalls", "getppid", half, half, cpus=[0, 1])
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert sum(expected.values()) == 4 * half
    (check_preempted if "PREEMPT_RT" in os.uname().version else check)(result, expected)


def test_tracepoint_with_kernel_and_user_frames(workload):
    n = scaled(100_000)
    work = workload("syscalls", "getppid", n, 2 * n, cpus=[0, 1])
    result, expected = trace(work, "-d", "-f", "-p", work.pid, GETPPID)
    check(result, expected)
    for parts, _ in read_folded(result.out):
        assert "do_syscall_64" in parts[parts.index("-") :], parts


@pytest.mark.needs("machine")
def test_tracepoint_with_kernel_frames_only(workload):
    n = scaled(100_000)
    work = workload("syscalls", "getppid", n, n, cpus=[0, 1])
    result, expected = trace(work, "-K", "-f", "-p", work.pid, GETPPID)
    result.ok()
    assert result.lost == 0
    assert total(result) == sum(expected.values()), result
    assert not chains(result), "user frames in spite of -K"


@pytest.mark.needs("machine")
def test_tracepoint_without_a_filter(workload):
    n = scaled(100_000)
    work = workload("syscalls", "getppid", n, n)
    result, expected = trace(work, "-U", "-f", GETPPID)
    found = {chain: count for chain, count in chains(result.ok()).items() if chain in expected}
    assert found == expected, result


@pytest.mark.parametrize("program", ["calls", *(pytest.param(name, marks=own_path) for name in ("calls-cet", "calls-pie"))])
def test_user_function(workload, program):
    n = scaled(20_000, least=200)
    work = workload(program, n, 2 * n, 0, cpus=[0, 1])
    result, expected = trace(work, "-f", f"{workload_path(program)}:leaf")
    check(result, ending(expected, "leaf"))


@pytest.mark.needs("path of its own")
def test_user_function_without_a_frame_of_its_own(workload):
    n = scaled(10_000, least=200)
    work = workload("calls", 0, 0, n)
    result, expected = trace(work, "-f", "-p", work.pid, f"{workload_path('calls')}:leaf_bare")
    check(result, ending(expected, "leaf_bare"))


@pytest.mark.needs("machine")
def test_user_function_of_a_stripped_program(workload):
    n = scaled(1_000, least=200)
    work = workload("calls-stripped", n, 0, 0)
    result, expected = trace(work, "-f", f"{workload_path('calls-stripped')}:leaf")
    result.ok()
    assert total(result) == sum(ending(expected, "leaf").values()), result


@pytest.mark.needs("machine")
def test_library_function(workload):
    """c:getppid in a shell that we own would do; the dynamic linker's users are simpler."""
    n = scaled(2_000, least=200)
    work = workload("spawn", "fork", 20, n)
    result, expected = trace(work, "-f", "-p", work.pid, "c:fork")
    result.ok()
    assert total(result) == 20, (result, expected)


@pytest.mark.needs("machine")
def test_usdt_of_one_provider(workload):
    n = scaled(20_000, least=200)
    work = workload("usdt", n, cpus=[0, 1])
    result, expected = trace(work, "-f", f"u:{workload_path('usdt')}:alpha:tick")
    check(result, ending(expected, "fire_alpha"))


@pytest.mark.needs("path of its own")
def test_usdt_of_every_provider(workload):
    n = scaled(20_000, least=200)
    work = workload("usdt", n)
    result, expected = trace(work, "-f", f"u:{workload_path('usdt')}:tick")
    check(result, ending(expected, "fire_alpha", "fire_beta"))


def test_usdt_behind_a_semaphore(workload):
    n = scaled(20_000, least=200)
    work = workload("usdt", n)
    result, expected = trace(work, "-f", "-p", work.pid, f"u:{workload_path('usdt')}:alpha:gated")
    assert sum(ending(expected, "fire_gated").values()) == n, "the semaphore was not raised"
    check(result, ending(expected, "fire_gated"))


@pytest.mark.needs("machine")
def test_usdt_wildcard(workload):
    n = scaled(5_000, least=200)
    work = workload("usdt", n)
    result, expected = trace(work, "-f", "-p", work.pid, f"u:{workload_path('usdt')}:*")
    check(result, ending(expected, "fire_alpha", "fire_beta", "fire_gated"))


@pytest.mark.needs("machine")
def test_several_patterns_in_one_run(workload):
    n = scaled(5_000, least=200)
    work = workload("calls", n, n, n)
    program = workload_path("calls")
    result, expected = trace(work, "-f", f"{program}:leaf", f"{program}:leaf_bare")
    check(result, ending(expected, "leaf", "leaf_bare"))


@pytest.mark.needs("machine")
def test_intervals_add_up(workload):
    """No hit twice, none between, while maps are swapped under the load."""
    seconds, n = (8, 8_000) if IN_GUEST else (4, 400_000)
    work = workload("syscalls", "getppid", n, n, seconds, cpus=[0, 1])
    result, expected = trace(work, "-U", "-i", "0.1", "-p", work.pid, GETPPID)
    text = parse_text(result.ok().out)
    assert result.lost == 0
    busy = [report for report in text.reports if report.total]
    assert len(busy) >= 2, f"{len(busy)} intervals with hits"
    assert sum(report.total for report in text.reports) == sum(expected.values())


@pytest.mark.needs("machine", "undisturbed maps")
def test_intervals_add_up_under_full_load(workload):
    n = scaled(500_000)
    work = workload("syscalls", "getppid", n, n, cpus=[0, 1])
    result, expected = trace(work, "-U", "-f", "-i", "0.05", "-p", work.pid, GETPPID)
    check(result, expected)


@pytest.mark.needs("machine")
def test_two_processes_at_once(workload):
    n = scaled(50_000)
    works = [workload("syscalls", "getppid", n, n, cpus=[cpu]) for cpu in (0, 1)]
    pids = ",".join(str(work.pid) for work in works)
    with Tool(["-U", "-f", "-p", pids, GETPPID]) as tool:
        tool.wait_live()
        for work in works:
            work.go()
        expected = [work.finish() for work in works]
        result = tool.end().ok()
    assert expected[0] == expected[1]
    assert chains(result) == {chain: 2 * count for chain, count in expected[0].items()}, result


@pytest.mark.needs("kprobes")
@pytest.mark.parametrize("function", ["vfs_read", pytest.param("ksys_read", marks=pytest.mark.needs("newest kernel"))])
def test_kernel_function(workload, function):
    n = scaled(100_000)
    work = workload("syscalls", "read", n, 2 * n, cpus=[0, 1])
    with Tool(["-d", "-f", "-p", work.pid, function]) as tool:
        tool.wait_live()
        expected = work.run()
        result = tool.end().ok()
    found = {chain: count for chain, count in chains(result).items() if chain in expected}
    assert found == expected, result
    assert result.lost == 0
    for parts, _ in read_folded(result.out):
        assert parts[-1] == function, parts


@pytest.mark.needs("kprobes", "way to kernel functions")
def test_kernel_function_without_a_filter(workload):
    n = scaled(50_000)
    work = workload("syscalls", "read", n, n)
    result, expected = trace(work, "-U", "-f", "vfs_read")
    found = {chain: count for chain, count in chains(result.ok()).items() if chain in expected}
    assert found == expected, result


@pytest.mark.needs("kprobes", "newest kernel")
def test_kernel_function_of_tcp(workload):
    n = scaled(20_000, least=200)
    work = workload("tcp", n)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, "tcp_sendmsg")
    assert chains(result.ok()) == expected, result
    assert result.lost == 0


@pytest.mark.needs("kprobes", "disk", "newest kernel")
def test_kernel_function_of_a_file_system(workload):
    n = scaled(5_000, least=100)
    work = workload("files", "/disk/exact", n)
    result, expected = trace(work, "-d", "-f", "-p", work.pid, "ext4_sync_file")
    assert chains(result.ok()) == expected, result
    assert all(parts[-1] == "ext4_sync_file" for parts, _ in read_folded(result.out))


@pytest.mark.needs("machine")
def test_short_run_ends(workload):
    work = workload("syscalls", "getppid", 100, 100)
    with Tool(["-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        work.run()
        tool.end(timeout_s=PATIENCE_S).ok()
