# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""funccount: every call is counted, once, at the function that was called."""

import json
import os
import re
import time
from pathlib import Path

import elf
import pytest
from calls import FUNCCOUNT, count_calls, funccount, parse_calls
from elf import write_program
from tool import Live, Tool, trace, workload_path

pytestmark = pytest.mark.needs("uprobes")

CALLS = workload_path("calls")
USDT = workload_path("usdt")


# --- exact counts ---


def test_user_functions_of_one_process_of_two(workload):
    work, other = workload("calls", 100, 20, 3), workload("calls", 500, 0, 0)
    with Live(["-p", work.pid, f"{CALLS}:leaf", f"{CALLS}:branch_?"], program=FUNCCOUNT) as tool:
        other.run()
        work.run()
        text = parse_calls(tool.end().ok().out)
    assert text.counts == {"leaf": 120, "branch_a": 100, "branch_b": 20}


def test_kinds_of_events_side_by_side(workload):
    work = workload("usdt", 300)
    patterns = [f"u:{USDT}:alpha:tick", f"{USDT}:fire_*", "t:sched:sched_*"]
    # Of the kernel's own events some may come while a program runs on that CPU: lost, and told.
    text = count_calls(work, "-p", work.pid, *patterns, is_lossless=False)
    counts = {name: n for name, n in text.counts.items() if not name.startswith("sched:")}
    assert counts == {"alpha:tick": 300, "fire_alpha": 300, "fire_beta": 300, "fire_gated": 300}


def test_a_command_and_its_children_are_counted():
    script = f"{CALLS} --quiet 10 20 30; {CALLS} --quiet 1 2 3"
    result = funccount(f"{CALLS}:leaf*", "--", "sh", "-c", script).ok()
    assert parse_calls(result.out).counts == {"leaf": 33, "leaf_bare": 33, "leafy": 2}
    assert "'sh' exited with status 0" in result.err


# --- kernel functions ---


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
def test_two_names_of_a_system_call_are_both_shown(workload, kernel):
    """A system call without arguments has one function for both ways to call it."""
    names = ["__x64_sys_getppid", "__ia32_sys_getppid"]
    assert all(kernel.has_function(name) for name in names)
    work = workload("syscalls", "getppid", 500, 0)
    counts = count_calls(work, "-p", work.pid, *names, "__x64_sys_getp*").counts
    shown = [name for row, count in counts.items() if count == 500 for name in row.split(", ")]
    assert sorted(shown) == sorted(names), counts


# Each of these files is read by a static function m_start of its own.
M_START = ["/proc/self/maps", "/proc/self/mounts", "/proc/modules"]


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
@pytest.mark.parametrize("patterns", [["m_start"], ["m_st?rt"]], ids=["name", "wildcard"])
def test_kernel_functions_of_one_name_are_counted_by_themselves(patterns):
    with Tool(["-p", os.getpid(), *patterns], program=FUNCCOUNT) as tool:
        tool.wait_live(240)
        for path in M_START:
            Path(path).read_bytes()
        text = parse_calls(tool.end(timeout_s=240).ok().out)
    rows = [name for name in text.counts if name.startswith("m_start")]
    assert len(rows) == len(M_START), text
    assert all(re.fullmatch(r"m_start( \[\w+\])? \[0xffffffff[0-9a-f]{8}\]", name) for name in rows), rows


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobe.multi")
def test_10000_kernel_functions(workload):
    """Some are called by an interrupt that comes while one is counted: those are lost, and told."""
    work = workload("syscalls", "read", 500, 0)
    text = count_calls(work, "-p", work.pid, "[d-v]*", is_lossless=False)
    assert text.n_functions > 10_000
    assert 500 <= text.counts["vfs_read"] <= 510


# --- names ---


def test_aliases_and_functions_of_one_name(tmp_path):
    """Aliases are shown as they were asked for. Others are counted by themselves."""
    program = write_program(tmp_path / "names", 3, [0] * 40 + [1] * 30 + [2] * 20, ["one=__one=uno", "step", "step"])
    text = parse_calls(funccount(*(f"{program}:{name}" for name in ("uno", "one", "step")), "--", program).ok().out)
    counts = text.counts
    assert text.n_functions == 3 and counts.pop("uno, one") == 40 and sorted(counts.values()) == [20, 30], text
    assert all(re.fullmatch(r"step \[0x[0-9a-f]+\]", name) for name in counts), text


# --- options and layout ---


def test_top_shows_the_most_frequent(workload):
    work = workload("calls", 30, 20, 10)
    text = count_calls(work, "-T", "-v", "--top", 2, f"{CALLS}:leaf*", f"{CALLS}:branch_*")
    assert text.reports[-1].time and text.reports[-1].rows == [("branch_a", 30), ("leaf", 50)]
    assert text.patterns == f'"{CALLS}:leaf*", "{CALLS}:branch_*"'
    assert text.reports[-1].total == 50 + 10 + 1 + 30 + 20 + 10


def test_json_is_a_line_per_report(workload):
    work = workload("calls", 30, 20, 10)
    before = time.time()
    result, _ = trace(work, "--json", "-p", work.pid, f"{CALLS}:leaf*", program=FUNCCOUNT)
    report = json.loads(result.out)
    assert report["counts"] == [
        {"function": "leafy", "count": 1},
        {"function": "leaf_bare", "count": 10},
        {"function": "leaf", "count": 50},
    ]
    assert report["total"] == 61 and report["lost"] == {}
    assert before <= report["time"] <= time.time()
    assert re.match(r'\{"time":\d+\.\d{9},', result.out)
    assert "Tracing 3 functions" in result.err


def test_counters_beyond_the_memory_allowed_are_refused(tmp_path):
    program = write_program(tmp_path / "many", 60_000)
    result = funccount("--max-memory", "1M", f"{program}:*")
    assert result.status == 1 and result.stdout == b"", result
    found = re.fullmatch(
        r"funccount: counting 60000 functions on \d+ CPUs needs --max-memory (\d+)M \(or trace fewer functions\)\n",
        result.err,
    )
    assert found, result
    # And that is enough.
    funccount("--max-memory", f"{found[1]}M", "-d", "0.1", f"{program}:*").ok()


# --- what bcc's funccount does not do ---


@pytest.mark.needs("uprobe.multi")
def test_10000_functions_are_one_program(tmp_path):
    called = [0] * 3 + [5_000] * 2 + [9_999]
    program = write_program(tmp_path / "many", 10_000, called=called)
    result = funccount("-D", f"{program}:*", "--", program, timeout_s=120).ok()
    text = parse_calls(result.out)
    assert text.n_functions == 10_000 and result.lost == 0
    assert text.counts == {elf.name(0): 3, elf.name(5_000): 2, elf.name(9_999): 1}
    assert len(re.findall(r"program on_uprobe_multi: \d+ instructions", result.err)) == 1
    assert "program on_uprobe:" not in result.err
