# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each program is taken by the kernel's verifier, in no more steps than verifier.txt allows it."""

import os
import re
import signal
from pathlib import Path

import kernel
import pytest
from tool import BUILD, FUNCCOUNT, GETPPID, STACKCOUNT, STACKSNOOP, Live, stackcount, workload_path

BUDGET = {
    program: int(steps)
    for program, steps in re.findall(r"^(\w+) +(\d+)$", Path(__file__).with_name("verifier.txt").read_text(), re.M)
}
CALLS = f"{workload_path('calls')}:leaf"
USDT = f"u:{workload_path('usdt')}:alpha:tick"
# Programs do most where interrupts are off. Of one process: others take their time.
SWITCH = ["-p", os.getpid(), "t:sched:sched_switch"]

machine = pytest.mark.needs("machine")
newest = pytest.mark.needs("newest kernel")
uprobes = pytest.mark.needs("uprobes")
multi = pytest.mark.needs("uprobe.multi")
kprobes = pytest.mark.needs("kprobes")

# One run loads the programs of entries and of returns: emulated, a run takes 10 s.
ALL_RETURNS, RETURNS = (["r:vfs_r*"], ["r:vfs_read"]) if kernel.has_kernel_returns() else ([], [])

EVENTS = [
    pytest.param([GETPPID], id="tracepoint"),
    pytest.param(["vfs_*", *ALL_RETURNS], marks=pytest.mark.needs("kprobe.multi"), id="kprobe.multi"),
    pytest.param(["--without", "kprobe.multi", "--without", "kretprobe.multi", "vfs_read", *RETURNS], marks=kprobes, id="kprobe"),
    pytest.param([CALLS], marks=multi, id="uprobe.multi"),
    pytest.param(["--without", "uprobe.multi", CALLS], marks=uprobes, id="uprobe"),
    pytest.param(["e:page-faults"], id="perf.event"),
    pytest.param([USDT], marks=multi, id="usdt.multi"),
    pytest.param(["--without", "uprobe.multi", USDT], marks=uprobes, id="usdt"),
]

# This machine may have no kernel functions to trace.
ONCE = [
    pytest.param(*event.values, id=event.id, marks=[*event.marks, newest if event.id.startswith("k") else machine])
    for event in EVENTS
]


def check_steps(result):
    steps = {name: int(n) for name, n in re.findall(r"program (\w+): verified in (\d+) steps", result.err)}
    print(steps)  # for the budgets of verifier.txt
    assert steps, result
    assert {name: n for name, n in steps.items() if n > BUDGET.get(name, 0)} == {}, result


def check(program, *options):
    """What is printed of hits does not matter: other processes' may never end, so they are not waited for."""
    with Live(["--debug", *options], program=program) as tool:
        tool.send(signal.SIGINT)
        check_steps(tool.wait().ok())


PAIR = ["--elapsed", *SWITCH, "--until", GETPPID, GETPPID]

CALL_PAIRS = [
    pytest.param(["--elapsed", *SWITCH], id="a switch"),
    pytest.param(["--elapsed", CALLS], marks=multi, id="uprobe.multi"),
    pytest.param(["--elapsed", "--without", "uprobe.multi", CALLS], marks=uprobes, id="uprobe"),
]


# Emulated, a run takes 5 s. The guests of the gate have the other programs in two runs, of many kinds of events.
LARGEST = [
    pytest.param(*event.values, id=event.id, marks=[*event.marks, pytest.mark.core if event.id == "perf.event" else pytest.mark.needs("path of its own")])
    for event in [*EVENTS, pytest.param(SWITCH, id="interrupts off")]
]


@pytest.mark.parametrize("event", LARGEST)
def test_the_largest(event):
    check(STACKCOUNT, *event)


@pytest.mark.needs("path of its own")
@pytest.mark.parametrize("event", [pytest.param(PAIR, id="a switch until another event"), *CALL_PAIRS])
def test_the_largest_of_pairs(event):
    check(STACKCOUNT, *event)


def many(*ways):
    """Events of several kinds in one run, as far as this kernel has them."""
    tables = ["--unwind", "auto"] if kernel.has_unwinding() else []
    kernels = [] if kernel.has_no_kprobes() else ["vfs_read", *RETURNS]
    users = [CALLS, USDT] if kernel.has_uprobes() else []
    return [*tables, *(word for way in ways for word in ("--without", way)), *SWITCH, *kernels, *users]


# The program that was built here, and static ones of other compilers: tests/roots/run.py leaves them there.
BUILT = [Path(STACKCOUNT), *sorted((BUILD / "roots" / "programs").glob("*"))]


@pytest.mark.core
@pytest.mark.parametrize("built", BUILT, ids=lambda path: path.name)
@pytest.mark.parametrize("ways", [pytest.param([], id="best"), pytest.param(["kprobe.multi", "kretprobe.multi", "uprobe.multi"], marks=multi, id="single")])
def test_many_kinds_of_events_in_one_run(built, ways):
    check(str(built), *many(*ways))


@pytest.mark.parametrize("event", ONCE)
@pytest.mark.parametrize("options", [["--unwind", "auto"], pytest.param(["--unwind", "fp"], marks=pytest.mark.thorough)], ids=" ".join)
def test_of_events(event, options):
    check(STACKSNOOP, *options, *event)


@pytest.mark.parametrize("event", ONCE)
def test_of_calls(event):
    check(FUNCCOUNT, *event)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [["-K"], ["-U"], ["-P", "--max-depth", "5"], ["-c", "0", "--events", "1000000000"]], ids=" ".join)
def test_with_options(options):
    check(STACKCOUNT, *options, GETPPID)


def test_of_a_commands_processes():
    check_steps(stackcount("--debug", GETPPID, "--", "true").ok())
