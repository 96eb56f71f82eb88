# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Any number of distinct stacks, however deep; the right first and second frame."""

import re
from collections import Counter

import pytest
from ladder import LEVELS, number_of
from tool import GETPPID, Live, chains, check_account, read_folded, scaled, trace, workload_path


# Maps begin with room for 65,536 pieces of stacks.
@pytest.mark.parametrize("n", [80_000, pytest.param(200_000, marks=pytest.mark.thorough)])
def test_distinct_stacks_each_counted(workload, n):
    n, times = scaled(n), 3
    work = workload("ladder", LEVELS, n, times)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert result.ok().lost == 0, result.err
    lines = read_folded(result.out)
    counts = Counter()
    for parts, count in lines:
        counts[number_of(parts, LEVELS)] += count
    assert len(lines) == n, "stacks merged or split"
    assert counts == dict.fromkeys(range(n), times)
    assert sum(counts.values()) == sum(expected.values())


@pytest.mark.core
def test_budget_that_is_exhausted_is_a_loss_by_name_and_count(workload):
    """One more stack, known from before, is still counted when nothing new fits."""
    n = 120_000
    known = workload("syscalls", "getppid", 1000, 1000)
    many = workload("ladder", LEVELS, n, 1)
    with Live(["-U", "-f", "--max-memory", "4M", "-p", f"{known.pid},{many.pid}", GETPPID]) as tool:
        expected_known = known.run()
        expected_many = many.run()
        result = tool.end().ok()
    assert result.lost > 0, f"a budget of 4 MiB was enough for {n} stacks"
    assert re.search(r"^stackcount: Lost \d+ hits?(?: \([\d.]+%\))?: \d+ \w+", result.err, re.M), result.err
    check_account(result, sum(expected_known.values()) + sum(expected_many.values()))
    found = chains(result)
    assert {chain: found.get(chain) for chain in expected_known} == expected_known


def test_max_depth_of_a_stack_that_is_no_deeper(workload):
    """Nothing is cut, and no mark says so; one frame less, and it does."""
    whole = None
    for depth in (0, -1, 0):
        work = workload("syscalls", "getppid", 20, 0)
        args = [] if whole is None else ["--max-depth", len(whole) + depth]
        result, _ = trace(work, "-U", "-f", "--unwind", "auto", *args, "-p", work.pid, GETPPID)
        ((parts, n),) = read_folded(result.ok().out)
        assert n == 20, result
        whole = whole or parts
        assert parts == (["[cut: depth]"] + whole[-len(whole) + 1 :] if depth else whole), result


@pytest.mark.needs("path of its own")
def test_max_depth_of_kernel_stacks(workload):
    """Of a hit that comes by one path; on some kernels there are none at a system call."""
    paths = {}
    for depth in (100, 1, 2):
        work = workload("syscalls", "getppid", 30, 0)
        result, _ = trace(work, "-K", "-f", "--max-depth", depth, "-p", work.pid, GETPPID)
        ((paths[depth], n),) = read_folded(result.ok().out)
        assert n == 30, result
    whole = paths[100]
    for depth in (1, 2):
        is_cut = depth < len(whole)
        assert paths[depth] == ["[cut: depth]"] * is_cut + whole[-depth:], paths


# Kernel stacks end where they do: nothing stands outside of what began the thread.
OUTERMOST = re.compile(
    r"ret_from_fork|entry_|secondary_startup|common_startup|asm_|start_kernel|x86_64_start|startup_64|\[cut|\[unknown\]"
    r"|cpu_startup_entry|do_syscall_64|start_secondary|do_idle|irqentry|kthread|el[01]|__primary_switched|__secondary_switched"
)
MACHINERY = re.compile(r"bpf|trampoline|__traceiter|trace_call|perf_|kprobe|fprobe|ftrace|rethook")


def test_first_frame_at_a_tracepoint_is_the_function_that_holds_it(workload):
    with Live(["-K", "-f", "-D", "0.2", "t:sched:sched_switch"]) as tool:
        result = tool.wait().ok()
    lines = read_folded(result.out)
    assert lines
    for parts, _ in lines:
        assert parts[-1].startswith("__schedule"), parts
        assert not any(MACHINERY.search(part) for part in parts[-2:]), parts
        assert OUTERMOST.match(parts[0]), parts


def test_cxx_names_are_readable(workload):
    work = workload("cxx", 100)
    result, expected = trace(work, "-f", "-p", work.pid, f"{workload_path('cxx')}:shop::price(double)")
    assert chains(result.ok()) == expected, result
    work = workload("cxx", 100)
    raw, _ = trace(work, "-f", "--no-demangle", "-p", work.pid, f"{workload_path('cxx')}:shop::price(double)")
    assert {chain.rpartition(";")[2] for chain in chains(raw.ok())} == {"_ZN4shop5priceEd"}, raw


