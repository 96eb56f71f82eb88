# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""funccount: every call is counted, once, at the function that was called."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from calls import FUNCCOUNT, funccount, parse_calls
from text import parse_text
from tool import PATIENCE_S, Live, Tool, build, trace, workload_path

pytestmark = pytest.mark.needs("uprobes")

CALLS = workload_path("calls")


def write_program(path, functions, called=()):
    """Of these functions, "one=uno" if one has two names. It calls those of these numbers."""
    source = "".join(
        "".join(f".type {name}, @function\n.size {name}, 3\n{name}:\n" for name in names.split("=")) + "push %rbp; pop %rbp; ret\n"
        for names in functions
    )
    calls = "".join(f"call {functions[number].split('=')[0]}\n" for number in called)
    source += f".globl _start\n_start: {calls}mov $60, %eax; xor %edi, %edi; syscall\n"
    return str(build(path, source, "-nostdlib", "-static", language="assembler"))


MANY = [f"function_{i:06}" for i in range(60_000)]


# --- exact counts ---


def test_user_functions_of_one_process_of_two(workload):
    work, other = workload("calls", 100, 20, 3), workload("calls", 500, 0, 0)
    with Live(["-p", work.pid, f"{CALLS}:leaf", f"{CALLS}:branch_?"], program=FUNCCOUNT) as tool:
        other.run()
        work.run()
        text = parse_calls(tool.end().ok().out)
    assert text.counts == {"leaf": 120, "branch_a": 100, "branch_b": 20}


@pytest.mark.core
def test_a_command_and_its_children_are_counted():
    script = f"{CALLS} --quiet 10 20 30; {CALLS} --quiet 1 2 3"
    result = funccount(f"{CALLS}:leaf*", "--", "sh", "-c", script).ok()
    assert parse_calls(result.out).counts == {"leaf": 33, "leaf_bare": 33, "leafy": 2}
    assert "'sh' exited with status 0" in result.err


# --- kernel functions ---


# Each of these files is read by a static function m_start of its own.
M_START = ["/proc/self/maps", "/proc/self/mounts", "/proc/modules"]


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
def test_kernel_functions_of_one_name_are_counted_by_themselves():
    with Tool(["-p", os.getpid(), "m_start"], program=FUNCCOUNT) as tool:
        tool.wait_live(240)
        for path in M_START:
            Path(path).read_bytes()
        text = parse_calls(tool.end(timeout_s=240).ok().out)
    rows = [name for name in text.counts if name.startswith("m_start")]
    assert len(rows) == len(M_START), text
    assert all(re.fullmatch(r"m_start( \[\w+\])? \[0xffffffff[0-9a-f]{8}\]", name) for name in rows), rows


# --- names ---


def test_aliases_and_functions_of_one_name(tmp_path):
    """Aliases are one function, shown as it was asked for first. Others are counted by themselves."""
    program = write_program(tmp_path / "names", ["one=__one=uno", "step", "other"], [0] * 40 + [1] * 30 + [2] * 20)
    subprocess.run(["objcopy", "--redefine-sym", "other=step", program], check=True, timeout=PATIENCE_S)
    text = parse_calls(funccount(*(f"{program}:{name}" for name in ("uno", "one", "step")), "--", program).ok().out)
    counts = text.counts
    assert text.n_functions == 3 and counts.pop("uno") == 40 and sorted(counts.values()) == [20, 30], text
    assert all(re.fullmatch(r"step \[0x[0-9a-f]+\]", name) for name in counts), text


# --- options and layout ---


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
    program = write_program(tmp_path / "many", MANY)
    result = funccount("--max-memory", "1M", f"{program}:*")
    assert result.status == 1 and result.stdout == b"", result
    found = re.fullmatch(
        r"funccount: counting 60000 functions on \d+ CPUs needs --max-memory (\d+)M \(or trace fewer functions\)\n",
        result.err,
    )
    assert found, result
    # And that is enough.
    funccount("--max-memory", f"{found[1]}M", "-d", "0.1", f"{program}:*").ok()


# --- thousands of functions ---


@pytest.mark.needs("uprobe.multi")
def test_10000_functions_are_one_program(tmp_path):
    called = [0] * 3 + [5_000] * 2 + [9_999]
    program = write_program(tmp_path / "many", MANY[:10_000], called)
    result = funccount("-D", f"{program}:*", "--", program, timeout_s=120).ok()
    text = parse_calls(result.out)
    assert text.n_functions == 10_000 and result.lost == 0
    assert text.counts == {MANY[0]: 3, MANY[5_000]: 2, MANY[9_999]: 1}
    assert len(re.findall(r"program on_uprobe: \d+ instructions", result.err)) == 1
    assert "on_uprobe_multi" not in result.err and "10000 targets: backend uprobe.multi\n" in result.err


THOUSANDS = [
    pytest.param("c:*", 1000, marks=pytest.mark.needs("machine", "uprobe.multi"), id="user functions"),
    pytest.param("s*", 1000, marks=pytest.mark.needs("kprobe.multi"), id="kernel functions"),
    pytest.param("ext4_*", 400, marks=pytest.mark.needs("kprobe.multi"), id="functions of a module"),
]


@pytest.mark.needs("newest kernel")
@pytest.mark.parametrize("pattern,least", THOUSANDS)
def test_thousands_of_functions_take_no_event_each(workload, pattern, least):
    """One function that the kernel refuses does not cost the others."""
    work = workload("calls", 1, 0, 0)  # c: is what this process has mapped
    with Live(["-p", work.pid, pattern]) as tool:
        n_events = tool.n_perf_events()
        result = tool.end().ok()
    assert parse_text(result.out).n_functions > least
    assert n_events <= 3 * os.cpu_count() + 1  # those that follow processes
