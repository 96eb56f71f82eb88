# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Thousands of functions: attached, counted and taken away."""

import elf
import pytest
from elf import write_program
from text import parse_text
from tool import Tool, chains, ending, read_folded, stackcount, trace, workload_path

BACKENDS = [
    pytest.param([], id="best"),
    pytest.param(["--without", "uprobe.multi,uprobe.event"], id="uprobe"),
    pytest.param(
        ["--without", "uprobe.multi,uprobe"], marks=pytest.mark.needs("uprobe events"), id="uprobe.event"
    ),
]


def live_and_end(*args, patience_s=120):
    with Tool(args) as tool:
        tool.wait_live(patience_s)
        return tool.end(timeout_s=patience_s).ok()


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobe.multi")
def test_all_of_libc(workload):
    """One function that the kernel refuses does not cost the others."""
    work = workload("calls", 10, 0, 0)
    result = live_and_end("--debug", "-p", work.pid, "c:*")
    assert parse_text(result.out).n_functions > 1000


@pytest.mark.needs("uprobes", "path of its own")
def test_part_of_libc_with_one_perf_event_each(workload):
    """
    A part only: each costs the kernel a grace period when it is closed, one after the
    other, and until then every other perf event waits too.
    """
    work = workload("calls", 10, 0, 0)
    result = live_and_end("--without", "uprobe.multi,uprobe.event", "-p", work.pid, "c:strc*")
    assert parse_text(result.out).n_functions >= 5


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobes")
def test_functions_under_a_wildcard_are_each_counted(workload):
    work = workload("calls", 30, 20, 10)
    result, expected = trace(work, "-f", "-p", work.pid, f"{workload_path('calls')}:leaf*")
    found = {chain: n for chain, n in chains(result.ok()).items() if not chain.endswith("leafy")}
    assert found == ending(expected, "leaf", "leaf_bare"), result


@pytest.mark.needs("uprobes", "path of its own")
@pytest.mark.parametrize("without", BACKENDS)
def test_user_backends_count_alike(workload, without):
    work = workload("calls", 300, 200, 100, cpus=[0, 1])
    result, expected = trace(work, "-f", *without, "-p", work.pid, f"{workload_path('calls')}:leaf")
    assert chains(result.ok()) == ending(expected, "leaf"), result


@pytest.mark.needs("uprobes", "path of its own")
@pytest.mark.parametrize("without", BACKENDS)
def test_usdt_backends_count_alike(workload, without):
    work = workload("usdt", 300, cpus=[0, 1])
    result, expected = trace(work, "-f", *without, f"u:{workload_path('usdt')}:*")
    assert chains(result.ok()) == ending(expected, "fire_alpha", "fire_beta", "fire_gated"), result


LIMIT = 200_000  # of places in a run


@pytest.mark.needs("machine", "uprobes")
@pytest.mark.parametrize("option,pattern", [("-l", "*"), ("-lr", ".")])
def test_60000_functions_are_listed(option, pattern, tmp_path):
    program = write_program(tmp_path / "many", 60_000)
    lines = stackcount(option, f"{program}:{pattern}").ok().out.splitlines()
    assert lines == [f"{program}:{elf.name(i)}" for i in range(60_000)]


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobe.multi")
def test_60000_functions_are_counted(tmp_path):
    program = write_program(tmp_path / "many", 60_000, called=[0, 30_000, 59_999])
    with Tool(["-f", f"{program}:*", "--", program]) as tool:
        tool.wait_live()
        result = tool.wait().ok()
    assert "Tracing 60000 functions" in result.err
    counted = {parts[-1]: count for parts, count in read_folded(result.out)}
    assert counted == {elf.name(i): 1 for i in (0, 30_000, 59_999)} and result.lost == 0


@pytest.mark.needs("machine", "uprobes")
@pytest.mark.parametrize("option", [["-l"], []], ids=["listed", "traced"])
def test_more_functions_than_the_limit_are_refused(option, tmp_path):
    program = write_program(tmp_path / "many", LIMIT + 1)
    result = stackcount(*option, f"{program}:*")
    assert result.status == 1 and result.stdout == b"", result
    assert result.err == f"stackcount: '{program}:*' matches more than {LIMIT} places\n"


@pytest.mark.needs("machine", "uprobes")
def test_patterns_that_pass_the_limit_together_are_refused(tmp_path):
    few, many = write_program(tmp_path / "few", 10), write_program(tmp_path / "many", LIMIT - 5)
    result = stackcount("-l", f"{few}:*", f"{many}:*")
    assert result.status == 1 and result.stdout == b"", result
    assert f"'{many}:*' and the patterns before it match more than {LIMIT} places" in result.err


@pytest.mark.needs("machine")
@pytest.mark.parametrize("option,pattern", [("-l", "*"), ("-lr", ".")])
def test_all_kernel_functions_are_listed(option, pattern):
    lines = stackcount(option, pattern).ok().out.splitlines()
    assert len(lines) > 20_000 and "vfs_read" in lines


KERNEL_BACKENDS = [
    pytest.param(["--without", "kprobe"], marks=pytest.mark.needs("kprobe.multi"), id="kprobe.multi"),
    pytest.param(["--without", "kprobe.multi"], id="kprobe"),
]


@pytest.mark.needs("kprobes", "way to kernel functions")
@pytest.mark.parametrize("without", KERNEL_BACKENDS)
def test_kernel_backends_count_alike(workload, without):
    work = workload("syscalls", "read", 600, 400, cpus=[0, 1])
    result, expected = trace(work, "-f", "-d", *without, "-p", work.pid, "vfs_read")
    found = {chain: n for chain, n in chains(result.ok()).items() if chain in expected}
    assert found == expected, result
    for parts, _ in read_folded(result.out):
        kernel = parts[parts.index("-") + 1 :]
        if "ksys_read" in kernel:
            assert kernel[-2:] == ["ksys_read", "vfs_read"], kernel


@pytest.mark.needs("kprobes", "way to kernel functions")
@pytest.mark.parametrize("without", KERNEL_BACKENDS)
def test_kernel_wildcard(workload, without):
    work = workload("syscalls", "read", 50, 0)
    with Tool(["-U", "-f", *without, "-p", work.pid, "vfs_re*"]) as tool:
        tool.wait_live(240)
        expected = work.run()
        result = tool.end(timeout_s=240).ok()
    chain = next(iter(expected))
    assert chains(result)[chain] == 50, result


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
@pytest.mark.parametrize("pattern,least", [("vfs_*", 40), ("tcp_*", 100)])
def test_many_kernel_functions(pattern, least):
    result = live_and_end("-K", pattern, patience_s=240)
    text = parse_text(result.out)
    assert text.n_functions >= least, result


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobe.multi")
def test_all_of_ext4():
    result = live_and_end("-K", "ext4_*", patience_s=120)
    assert parse_text(result.out).n_functions > 400


@pytest.mark.needs("kprobes", "way to kernel functions")
def test_alias_of_a_system_call_takes_a_kprobe(workload):
    """Not in the list of what ftrace can trace, so not for kprobe.multi."""
    work = workload("syscalls", "getppid", 100, 0)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, "__x64_sys_getppid")
    assert chains(result.ok()) == {chain: n for chain, n in expected.items() if n}, result


@pytest.mark.needs("machine")
def test_all_tracepoints_of_a_category():
    result = stackcount("-D", "0.5", "t:sched:*").ok()
    assert parse_text(result.out).n_functions > 10
