# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Each tool by each kind of event and each backend: what is printed and what is told as lost are exactly
the hits that a workload made, each by its own chain or name. (profile takes samples: test_profile.py.)
"""

import os
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from calls import parse_calls
from snoop import folded_chains
from sums import below, read_sums
from text import parse_text
from tool import FUNCCOUNT, GETPPID, IN_GUEST, STACKCOUNT, STACKSNOOP, Live, chains, check_account, check_refused
from tool import ending, read_folded, scaled, stackcount, trace, workload_path

pytestmark = pytest.mark.needs("uprobes")

TOOLS = {"stackcount": STACKCOUNT, "stacksnoop": STACKSNOOP, "funccount": FUNCCOUNT}
PRIORITY = "__x64_sys_getpriority"
USER_BACKENDS = {"best": "", "uprobe": "uprobe.multi"}


@dataclass
class Event:
    workload: str
    arguments: tuple  # numbers are times N
    patterns: tuple  # "PATH" is the workload's file
    names: dict  # by innermost function of the workload: what each of its hits is counted as; none: as itself
    backends: dict  # what to do without, the best one first
    kernel: str = None  # its innermost kernel frame
    needs: tuple = ()
    tools: tuple = tuple(TOOLS)
    has_others: bool = False  # hits that are not the workload's


EVENTS = {
    "tracepoint": Event(
        "syscalls", ("getppid", 6, 4), (GETPPID, "t:syscalls:sys_exit_getppid"),
        {"hit": ("syscalls:sys_enter_getppid", "syscalls:sys_exit_getppid")}, {"": ""}, r".*syscall.*",
    ),
    "kernel function": Event(
        "syscalls", ("priority", 1, 2), (PRIORITY,), {"hit": (PRIORITY,)},
        {"kprobe.multi": "kprobe", "kprobe": "kprobe.multi"}, PRIORITY, ("kprobes",),
    ),
    "kernel return": Event(
        "syscalls", ("priority", 1, 2), (f"r:{PRIORITY}",), {"hit": (f"r:{PRIORITY}",)},
        {"kretprobe.multi": "kretprobe", "kretprobe": "kretprobe.multi"}, PRIORITY, ("kernel returns",),
    ),
    "user function": Event(
        "calls", (1, 2, 1), ("PATH:leaf", "PATH:leaf_bare"), {"leaf": ("leaf",), "leaf_bare": ("leaf_bare",)}, USER_BACKENDS
    ),
    "user return": Event("calls", (1, 2, 0), ("r:PATH:leaf",), {"leaf": ("r:leaf",)}, USER_BACKENDS),
    "USDT": Event(
        "usdt", (1,), ("u:PATH:*",),
        {"fire_alpha": ("alpha:tick",), "fire_beta": ("beta:tick",), "fire_gated": ("alpha:gated",)}, USER_BACKENDS,
    ),
    "perf event": Event("samples", (1, 0, 0, 0), ("e:page-faults:u",), {"touch": ("page-faults:u",)}, {"": ""}, has_others=True),
    "kernel functions": Event(
        "syscalls", ("read", 1, 2), ("vfs_re*",), {"hit": ("vfs_read",)},
        {"kprobe.multi": "kprobe", "kprobe": "kprobe.multi"}, None, ("kprobes",), ("stackcount",), True,
    ),
    # Traced behind its first instructions. The workload ends at the first wrong result, and then says nothing.
    "vector functions": Event(
        "vector", (1,), ("PATH:v_*",), {}, USER_BACKENDS, tools=("stackcount",)
    ),
}
NEEDS = {  # of backends
    "kprobe.multi": "kprobe.multi", "kretprobe.multi": "kprobe.multi",
    "uprobe": "uprobe.multi",  # where there is none, it is the best
}
# What a kernel can break: stackcount's programs by each backend, and where another tool has programs of its own.
CORE = {
    "stackcount": ("tracepoint", "kernel function", "kernel return", "user function", "perf event"),
    "stacksnoop": ("tracepoint", "user function"), "funccount": ("kernel function", "user function"),
}


def rows():
    for tool in TOOLS:
        for name, event in EVENTS.items():
            for backend in event.backends if tool in event.tools else ():
                is_best = backend == next(iter(event.backends))
                is_core = name in CORE[tool] and (is_best or tool == "stackcount")
                marks = [pytest.mark.core if is_core else pytest.mark.needs("path of its own")]
                marks += [] if is_best or tool == "stackcount" else [pytest.mark.thorough]
                marks.append(pytest.mark.needs(*event.needs, *filter(None, [NEEDS.get(backend)])))
                yield pytest.param(tool, name, backend, marks=marks, id="-".join(filter(None, (tool, name.replace(" ", "_"), backend))))


def check_sums(result, found, made):
    """Fewer only where a kernel preempts our calls on maps: it skips hits on that CPU, which is told."""
    check_account(result, sum(made.values()), printed=sum(found.values()))
    assert set(found) <= set(made) and all(n <= made[name] for name, n in found.items()), result
    told = re.search(r"Lost (\d+) hits(?: \([\d.]+%\))?: \1 another BPF program was running on the CPU\n", result.err)
    assert result.lost == (int(told[1]) if told and "PREEMPT" in os.uname().version else 0), result


@pytest.mark.parametrize("tool,name,backend", [*rows()])
def test_counts(workload, tmp_path, tool, name, backend):
    """User code is in a copy, which nobody else runs: without a filter. Elsewhere, -p is the filter."""
    event = EVENTS[name]
    program = Path(shutil.copy(workload_path(event.workload), tmp_path / event.workload))
    program.chmod(0o777 if tool == "funccount" else 0o755)  # into what others may write, another process puts the probes
    n = scaled(500 if tool == "stacksnoop" or name == "vector functions" else 2_000, least=200)
    work = workload(program, *(n * a if isinstance(a, int) else a for a in event.arguments), cpus=[0, 1])
    options = [] if "PATH" in event.patterns[0] else ["-p", work.pid]
    if tool == "funccount":
        options += ["--debug"]
    else:
        options += ["-f", "-d" if event.kernel and tool == "stackcount" else "-U"]
    if event.backends[backend]:
        options += ["--without", event.backends[backend]]
    patterns = [pattern.replace("PATH", str(program)) for pattern in event.patterns]
    result, expected = trace(work, *options, *patterns, program=TOOLS[tool])
    made, found = Counter(), {}
    for chain, hits in (ending(expected, *event.names) if event.names else expected).items():
        function = chain.rpartition(";")[2]
        for one in event.names.get(function, (function,)):
            made[one if tool == "funccount" else chain] += hits
    if tool == "funccount":
        found = parse_calls(result.ok().out).counts
        assert ("another process attaches its probes" in result.err) == ("PATH" in event.patterns[0]), result
    else:
        found = folded_chains(result.ok().out)[0] if tool == "stacksnoop" else chains(result.ok())
    assert len(made) > 0
    if event.has_others:
        for one, hits in made.items():
            check_account(result, hits, found[one], hits + result.lost if tool != "funccount" else float("inf"))
        return
    check_sums(result, found, made)
    if "-d" in options:
        for parts, _ in read_folded(result.out):
            assert re.fullmatch(event.kernel, parts[-1]) and parts[-2] != parts[-1] and "do_syscall_64" in parts, result


def by_backend(name):
    backends = EVENTS[name].backends.items()
    rows = [pytest.param(["--without", others] if others else [], marks=pytest.mark.needs(*filter(None, [NEEDS.get(backend)])), id=backend)
            for backend, others in backends]
    return pytest.mark.parametrize("without", rows)


@pytest.mark.needs("kernel returns")
@by_backend("kernel return")
def test_callers_whose_returns_are_traced_too_keep_their_names(workload, without):
    """The kernel has replaced their return addresses on the stack."""
    work = workload("syscalls", "read", 500, 500)
    result, _ = trace(work, "-K", "-f", *without, "-p", work.pid, "r:vfs_read", "r:ksys_read")
    n_below = sum(count for parts, count in read_folded(result.ok().out) if list(parts[-2:]) == ["ksys_read", "vfs_read"])
    assert n_below >= 1000, result
    assert not re.search("trampoline|return_to_handler", result.out), result


@pytest.mark.needs("path of its own")
@by_backend("user function")
def test_values_of_arguments(workload, without):
    """In a register and on the stack. What functions pass is in test_sums.py."""
    n = 500
    work = workload("values", "call", n)
    result, _ = trace(work, "-U", "--format", "json", *without, "-p", work.pid, "--sum", "arg7 + (int)arg1", f"{workload_path('values')}:many")
    assert read_sums(result)[:2] == (below(";many", (1000 * n, n * (n - 1) + 1000 * n)), below(";many", (n, n))), result


@pytest.mark.needs("path of its own")
@pytest.mark.parametrize("program", ["calls-cet", "calls-pie"])
def test_programs_of_other_kinds(workload, program):
    n = scaled(2_000, least=200)
    work = workload(program, n, 2 * n, 0, cpus=[0, 1])
    result, expected = trace(work, "-f", "-p", work.pid, f"{workload_path(program)}:leaf")
    check_sums(result, chains(result.ok()), ending(expected, "leaf"))


@pytest.mark.needs("undisturbed maps")
@pytest.mark.parametrize("tool", [pytest.param("stackcount", marks=pytest.mark.core), pytest.param("funccount", marks=pytest.mark.thorough)])
def test_intervals_of_millions_of_hits_add_up(workload, tool):
    """No hit twice and none between, while maps are swapped under full load on both CPUs."""
    n = scaled(375_000)
    one, two = (workload("syscalls", "getppid", n, n, 0 if not IN_GUEST else 1, cpus=[0, 1]) for _ in range(2))
    options = ["-U"] if tool == "stackcount" else []
    with Live([*options, "-i", "0.05", "-p", f"{one.pid},{two.pid}", GETPPID], program=TOOLS[tool]) as run:
        made = sum(one.run().values())
        run.wait_for("stdout", rb" [1-9]\d*$")  # so what follows is in another interval
        made += sum(two.run().values())
        result = run.end().ok()
    assert result.lost == 0, result
    if tool == "stackcount":
        text = parse_text(result.out)
        totals = [report.total for report in text.reports]
        assert {entry.pid for entry in text.entries} == {one.pid, two.pid}, "several -p tell processes apart"
    else:
        totals = [sum(count for _, count in rows) for rows in parse_calls(result.out).reports]
    assert sum(totals) == made and sum(map(bool, totals)) >= 2, totals


# --- where a probe would harm the program ---

VECTOR = workload_path("vector")


@pytest.mark.needs("machine")
@pytest.mark.parametrize(
    "function,why,command",
    [
        ("v_loop_vex", "the kernel would mistake its first instruction for another one", []),
        ("v_clear_vex", "the kernel cannot probe its first instruction", ["--", VECTOR, "--quiet", "1"]),
    ],
    ids=["mistaken", "refused"],
)
def test_a_loop_behind_it_is_no_call(function, why, command):
    """As it is alone, that is an error; also where no process has the file mapped, in which case
    the kernel would take every probe and look at the instruction later."""
    result = stackcount("-D", "1", f"{VECTOR}:{function}", *command)
    assert result.status == 1
    assert re.fullmatch(rf"stackcount: attach {function}: {why} \({VECTOR}\+0x[0-9a-f]+\)\n", result.err), result
    several = stackcount("--debug", "-D", "0.1", f"{VECTOR}:{function[:-3]}*").ok()
    assert f"refused: {function}: {why}" in several.err
    assert "1 of 2 could not be traced" in several.err


REFUSED = f"{VECTOR}:to_ss"


@pytest.mark.needs("path of its own")
def test_refused_functions_are_told(workload):
    """The kernel looks at its first instruction where a process has it mapped."""
    workload("vector", 1)
    result = stackcount("--debug", "-D", "0.1", REFUSED, "c:pthread_spin_unlock").ok()
    assert re.findall(r"refused: (\S+): ", result.err) == ["to_ss"], result
    assert "1 of 2 could not be traced" in result.err, result
    check_refused(stackcount("-D", "0.1", REFUSED), 1, "^stackcount: attach to_ss: ")
