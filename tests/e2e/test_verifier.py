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

multi = pytest.mark.needs("uprobe.multi")

# One run loads the programs of entries and of returns: emulated, a run takes 10 s.
ALL_RETURNS, RETURNS = (["r:vfs_r*"], ["r:vfs_read"]) if kernel.has_kernel_returns() else ([], [])


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


def many(program, *ways):
    """Events of several kinds in one run, as far as this kernel has them."""
    tracepoints = SWITCH if program == STACKCOUNT else [GETPPID]
    tables = ["--unwind", "auto"] if kernel.has_unwinding() and program != FUNCCOUNT else []
    kernels = ["vfs_read", *RETURNS] if kernel.has_kprobes() else []
    users = [CALLS, USDT] if kernel.has_uprobes() else []
    return [*tables, *(word for way in ways for word in ("--without", way)), *tracepoints, *kernels, *users]


# The program that was built here, and static ones of other compilers: tests/roots/run.py leaves them there.
BUILT = [Path(STACKCOUNT), *sorted((BUILD / "roots" / "programs").glob("*"))]
WAYS = [pytest.param([], id="best"), pytest.param(["kprobe.multi", "kretprobe.multi", "uprobe.multi"], marks=multi, id="single")]


@pytest.mark.core
@pytest.mark.parametrize("built", BUILT, ids=lambda path: path.name)
@pytest.mark.parametrize("ways", WAYS)
def test_many_kinds_of_events_in_one_run(built, ways):
    check(str(built), *many(STACKCOUNT, *ways))


@pytest.mark.needs("newest kernel")
@pytest.mark.parametrize("program, ways", [
    (STACKSNOOP, []), (FUNCCOUNT, []), *(pytest.param(one, ["uprobe.multi"], marks=[multi, pytest.mark.thorough]) for one in (STACKSNOOP, FUNCCOUNT)),
])
def test_other_tools(program, ways):
    check(program, *many(program, *ways))


@pytest.mark.parametrize("program", [
    pytest.param(STACKCOUNT, marks=pytest.mark.core), *(pytest.param(one, marks=pytest.mark.thorough) for one in (STACKSNOOP, FUNCCOUNT)),
], ids=os.path.basename)
def test_perf_events(program):
    check(program, "e:page-faults")


@pytest.mark.needs("kprobe.multi", "path of its own")
@pytest.mark.parametrize("program", [STACKCOUNT, STACKSNOOP, FUNCCOUNT], ids=os.path.basename)
def test_kernel_functions_by_one_link(program):
    check(program, "vfs_*", *ALL_RETURNS)


PAIRS = [
    pytest.param([*SWITCH, "--until", GETPPID, GETPPID], id="a switch until another event"),
    pytest.param([CALLS], marks=multi, id="uprobe.multi"),
    pytest.param(["--without", "uprobe.multi", CALLS], marks=[pytest.mark.needs("uprobes"), pytest.mark.thorough], id="uprobe"),
]


@pytest.mark.needs("path of its own")
@pytest.mark.parametrize("event", PAIRS)
def test_pairs(event):
    check(STACKCOUNT, "--elapsed", *event)


def test_of_a_commands_processes():
    check_steps(stackcount("--debug", GETPPID, "--", "true").ok())
