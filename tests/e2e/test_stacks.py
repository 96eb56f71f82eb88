# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Any number of distinct stacks, however deep; the right first and second frame."""

import re
import signal
from collections import Counter

import pytest
from distinct import stack_number
from text import parse_text
from tool import GETPPID, Live, chains, check_account, own_copy, read_folded, scaled, trace, user_chain, wait_for_large_maps
from tool import workload_path

# Without tables, both are the same.
HOW = pytest.mark.parametrize("how", ["fp", pytest.param("auto", marks=pytest.mark.needs("unwinding"))])


@pytest.mark.thorough
def test_200_000_distinct_stacks_each_counted(workload):
    n, times = scaled(200_000), 3
    work = workload("distinct", n, times)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert result.ok().lost == 0, result.err
    lines = read_folded(result.out)
    counts = Counter()
    for parts, count in lines:
        counts[stack_number(parts)] += count
    assert len(lines) == n, "stacks merged or split"
    assert counts == dict.fromkeys(range(n), times)
    assert sum(counts.values()) == sum(expected.values())


@pytest.mark.thorough
def test_the_kernel_alone_has_room_for_200_000_distinct_stacks(workload):
    """However busy the machine: here the tool does not run at all meanwhile."""
    n = scaled(200_000)
    work = workload("distinct", n, 1)
    with Live(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
        wait_for_large_maps(tool)
        tool.send(signal.SIGSTOP)
        expected = work.run()
        tool.send(signal.SIGCONT)
        result = tool.end().ok()
    assert result.lost == 0, result.err
    lines = read_folded(result.out)
    assert len(lines) == n and sum(count for _, count in lines) == sum(expected.values())


def test_distinct_stacks_with_kernel_frames_and_intervals(workload):
    n, times = scaled(5_000), 4
    work = workload("distinct", n, times, cpus=[0, 1])
    result, _ = trace(work, "-d", "-f", "-i", "0.05", "-p", work.pid, GETPPID)
    assert result.ok().lost == 0, result.err
    counts = Counter()
    for parts, count in read_folded(result.out):
        counts[stack_number(parts)] += count
    assert counts == dict.fromkeys(range(n), 2 * times)


def test_budget_that_is_exhausted_is_a_loss_by_name_and_count(workload):
    """One more stack, known from before, is still counted when nothing new fits."""
    n = 120_000
    known = workload("syscalls", "getppid", 1000, 1000)
    many = workload("distinct", n, 1)
    with Live(["-U", "-f", "--max-memory", "4M", "-p", f"{known.pid},{many.pid}", GETPPID]) as tool:
        expected_known = known.run()
        expected_many = many.run()
        result = tool.end().ok()
    assert result.lost > 0, f"a budget of 4 MiB was enough for {n} stacks"
    assert re.search(r"^stackcount: Lost \d+ hits?(?: \([\d.]+%\))?: \d+ \w+", result.err, re.M), result.err
    check_account(result, sum(expected_known.values()) + sum(expected_many.values()))
    found = chains(result)
    assert {chain: found.get(chain) for chain in expected_known} == expected_known


def test_budget_is_kept(workload):
    n = scaled(60_000, least=4_000)
    work = workload("distinct", n, 1)
    with Live(["-U", "-f", "--max-memory", "32M", "-p", work.pid, GETPPID]) as tool:
        work.run()
        status = open(f"/proc/{tool.pid}/status").read()
        peak_kib = int(re.search(r"VmHWM:\s+(\d+)", status)[1])
        tool.end().ok()
    assert peak_kib < 64 * 1024, f"{peak_kib} KiB resident with a budget of 32 MiB"


@pytest.mark.needs("path of its own")
def test_a_small_run_takes_little_memory(workload):
    """Of one process: the tables of all the others here take what they take."""
    work = workload("syscalls", "getppid", 1000, 0)
    with Live(["-f", "-p", work.pid, GETPPID]) as tool:
        work.run()
        peak_kib = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{tool.pid}/status").read())[1])
        tool.end().ok()
    assert peak_kib < 40 * 1024


@pytest.mark.needs("unwinding")  # its workload needs gcc
def test_the_last_call_of_a_function_names_that_function(workload):
    """What it calls does not return, so the return address is the next function's."""
    work = workload("noreturn", 20)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected, result


def test_known_stacks_are_still_counted_when_the_budget_is_exhausted(workload):
    """The known one's hits come when nothing new fits any more, and the maps are empty again."""
    known = workload("dl", workload_path("liblate.so"), 500)
    many = workload("distinct", 120_000, 1)
    with Live(["-U", "-f", "--max-memory", "4M", "-p", f"{known.pid},{many.pid}", GETPPID]) as tool:
        known.go().wait_for("loading")
        expected_many = many.run()
        tool.drain()
        known.go()
        expected_known = known.finish()
        result = tool.end().ok()
    check_account(result, sum(expected_known.values()) + sum(expected_many.values()))
    first = "main;work_run;run;hit"
    assert chains(result).get(first) == expected_known[first]


def test_deep_stack_is_whole_up_to_the_limit(workload):
    work = workload("deep", 100, 50)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected, result


def test_stack_that_was_cut_says_so(workload):
    work = workload("deep", 2000, 50)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    lines = read_folded(result.ok().out)
    assert sum(count for _, count in lines) == 50
    for parts, _ in lines:
        assert parts[0].startswith("[cut"), parts[:3]
        assert parts[-1] == "hit" and parts[-2] == "recurse"


@pytest.mark.parametrize("depth", [1, 20])
@HOW
def test_max_depth_keeps_the_innermost_frames(workload, depth, how):
    work = workload("deep", 60, 20)
    args = ["-U", "-f", "--unwind", how, "--max-depth", depth]
    result, _ = trace(work, *args, "-p", work.pid, GETPPID)
    lines = read_folded(result.ok().out)
    assert sum(count for _, count in lines) == 20
    for parts, _ in lines:
        assert parts == ["[cut: depth]"] + ["recurse"] * (depth - 1) + ["hit"], parts


@HOW
def test_max_depth_of_a_stack_that_is_no_deeper(workload, how):
    """Nothing is cut, and no mark says so; one frame less, and it does."""
    whole = None
    for depth in (0, -1, 0):
        work = workload("deep", 10, 20)
        args = [] if whole is None else ["--max-depth", len(whole) + depth]
        result, _ = trace(work, "-U", "-f", "--unwind", how, *args, "-p", work.pid, GETPPID)
        ((parts, n),) = read_folded(result.ok().out)
        assert n == 20, result
        whole = whole or parts
        assert parts == (["[cut: depth]"] + whole[-len(whole) + 1 :] if depth else whole), result


@pytest.mark.needs("uprobes")
@HOW
def test_max_depth_of_one_at_a_function(workload, how):
    work = workload("calls", 100, 100, 100)
    args = ["--unwind", how, "-U", "-f", "--max-depth", 1, "-p", work.pid]
    result, _ = trace(work, *args, f"{workload_path('calls')}:leaf")
    assert read_folded(result.ok().out) == [(["[cut: depth]", "leaf"], 200)], result


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


def test_max_depth_merges_what_it_makes_equal(workload):
    work = workload("syscalls", "getppid", 30, 12)
    result, _ = trace(work, "-U", "-f", "--max-depth", 1, "-p", work.pid, GETPPID)
    counts = [count for _, count in read_folded(result.ok().out)]
    assert sum(counts) == 42 and len(counts) == 1, result


@pytest.mark.needs("uprobes", "path of its own")
@pytest.mark.parametrize("program", ["calls", "calls-cet", "calls-pie"])
def test_first_frame_is_the_function_and_second_its_caller(workload, program):
    work = workload(program, 100, 100, 100)
    result, _ = trace(work, "-p", work.pid, f"{workload_path(program)}:leaf*")
    text = parse_text(result.ok().out)
    pairs = {tuple(entry.frames[:2]) for entry in text.entries}
    assert pairs == {
        ("leaf", "branch_a"),
        ("leaf", "middle"),
        ("leaf_bare", "branch_bare"),
        ("leafy", "run"),
    }


# Kernel stacks end where they do: nothing stands outside of what began the thread.
OUTERMOST = re.compile(
    r"ret_from_fork|entry_|secondary_startup|common_startup|asm_|start_kernel|x86_64_start|startup_64|\[cut|\[unknown\]"
    r"|cpu_startup_entry|do_syscall_64|start_secondary|do_idle|irqentry|kthread|el[01]|__primary_switched|__secondary_switched"
)
MACHINERY = re.compile(r"bpf|trampoline|__traceiter|trace_call|perf_|kprobe|fprobe|ftrace|rethook")


def test_first_frame_at_a_tracepoint_is_the_function_that_holds_it(workload):
    with Live(["-K", "-f", "-D", "1", "t:sched:sched_switch"]) as tool:
        result = tool.wait().ok()
    lines = read_folded(result.out)
    assert lines
    for parts, _ in lines:
        assert parts[-1].startswith("__schedule"), parts
        assert not any(MACHINERY.search(part) for part in parts[-2:]), parts
        assert OUTERMOST.match(parts[0]), parts


@pytest.mark.needs("path of its own")
def test_first_frame_at_a_system_call(workload):
    work = workload("syscalls", "getppid", 100, 0)
    result, _ = trace(work, "-K", "-f", "-p", work.pid, GETPPID)
    for parts, _ in read_folded(result.ok().out):
        assert re.search(r"syscall", parts[-1]), parts
        assert not MACHINERY.search(parts[-1]), parts


@pytest.mark.needs("kprobes", "way to kernel functions")
def test_first_frames_at_a_kernel_function(workload):
    work = workload("syscalls", "read", 100, 0)
    result, _ = trace(work, "-K", "-f", "-p", work.pid, "vfs_read")
    ours = [parts for parts, _ in read_folded(result.ok().out) if "ksys_read" in parts]
    assert ours, result
    for parts in ours:
        assert parts[-2:] == ["ksys_read", "vfs_read"], parts


@pytest.mark.needs("kprobes", "disk", "newest kernel")
def test_submit_bio_of_a_real_disk(workload):
    work = workload("files", "/disk/bio", 100)
    result, _ = trace(work, "-K", "submit_bio")
    text = parse_text(result.ok().out)
    assert sum(entry.count for entry in text.entries) >= 100
    for entry in text.entries:
        assert entry.frames[0] == "submit_bio" and len(entry.frames) > 3, entry
        assert entry.frames[1] != "submit_bio"


@pytest.mark.needs("kprobes", "newest kernel")
def test_ip_output_of_loopback(workload):
    work = workload("tcp", 100)
    result, _ = trace(work, "-d", "-p", work.pid, "ip_output")
    text = parse_text(result.ok().out)
    sends = [entry for entry in text.entries if "tcp_sendmsg" in entry.frames]
    assert sum(entry.count for entry in sends) >= 100
    for entry in sends:
        assert entry.frames[0] == "ip_output"
        assert entry.user_frames[0] == "send_one", entry.user_frames


def test_equal_paths_of_different_processes_are_one_entry(workload):
    works = [workload("calls-pie", 10, 0, 0) for _ in range(3)]
    program = workload_path("calls-pie")
    with Live(["-f", "-p", ",".join(str(work.pid) for work in works), f"{program}:leaf"]) as tool:
        expected = [work.run() for work in works]
        result = tool.end().ok()
    chain = next(iter(expected[0]))
    ours = [(parts, count) for parts, count in read_folded(result.out) if user_chain(parts) == chain]
    assert [count for _, count in ours] == [30], result


def test_cxx_names_are_readable(workload):
    work = workload("cxx", 100)
    result, expected = trace(work, "-f", "-p", work.pid, f"{workload_path('cxx')}:shop::price(double)")
    assert chains(result.ok()) == expected, result
    work = workload("cxx", 100)
    raw, _ = trace(work, "-f", "--no-demangle", "-p", work.pid, f"{workload_path('cxx')}:shop::price(double)")
    assert {chain.rpartition(";")[2] for chain in chains(raw.ok())} == {"_ZN4shop5priceEd"}, raw


@pytest.mark.walk("fp")
def test_addresses_as_small_as_marks_are_addresses(workload, tmp_path):
    """After a jump through a bad pointer: 20 places, each of which is no cut."""
    own = own_copy("wild", tmp_path)
    result, _ = trace(workload(own, 20), "-P", "-U", "-f", "t:signal:signal_generate")
    ours = [(parts, n) for parts, n in read_folded(result.ok().out) if parts[0] == own.name]
    wild = [(parts, n) for parts, n in ours if "run" in parts and parts[-1] == "[unknown]"]
    assert sum(n for _, n in wild) == 20, result
    assert not any(part.startswith("[cut") for parts, _ in wild for part in parts), result
