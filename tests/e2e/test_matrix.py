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

import pytest
from calls import parse_calls
from snoop import folded_chains
from text import parse_text
from tool import FUNCCOUNT, GETPPID, IN_GUEST, STACKCOUNT, STACKSNOOP, chains, check_account
from tool import ending, read_folded, scaled, trace, workload_path

pytestmark = pytest.mark.needs("uprobes")

TOOLS = {"stackcount": STACKCOUNT, "stacksnoop": STACKSNOOP, "funccount": FUNCCOUNT}
PRIORITY = "__x64_sys_getpriority"
USER_BACKENDS = {"best": "", "uprobe": "uprobe.multi,uprobe.event", "uprobe.event": "uprobe.multi,uprobe"}


@dataclass
class Event:
    workload: str
    arguments: tuple  # numbers are times N
    patterns: tuple  # "PATH" is the workload's file
    names: dict  # by innermost function of the workload: what each of its hits is counted as
    backends: dict  # what to do without, the best one first
    kernel: str = None  # its innermost kernel frame
    needs: tuple = ()


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
    "perf event": Event("samples", (1, 0, 0, 0), ("e:page-faults:u",), {"touch": ("page-faults:u",)}, {"": ""}),
}
NEEDS = {  # of backends
    "kprobe.multi": "kprobe.multi", "kretprobe.multi": "kprobe.multi",
    "uprobe": "uprobe.multi", "uprobe.event": "uprobe events",  # where there is no uprobe.multi, the single one is the best
}
# What a kernel can break: stackcount's programs by each backend, and where another tool has programs of its own.
CORE = {"stacksnoop": ("tracepoint", "user function"), "funccount": ("kernel function",)}


def rows():
    for tool in TOOLS:
        for name, event in EVENTS.items():
            for backend in event.backends:
                if (tool, backend) == ("funccount", "uprobe.event"):
                    continue  # it does not tell functions apart
                is_best = backend == next(iter(event.backends))
                is_core = is_best and name in CORE[tool] if tool in CORE else is_best or name not in ("USDT", "user return")
                marks = [pytest.mark.core if is_core else pytest.mark.needs("path of its own")]
                marks.append(pytest.mark.needs(*event.needs, *filter(None, [NEEDS.get(backend)])))
                yield pytest.param(tool, name, backend, marks=marks, id="-".join(filter(None, (tool, name.replace(" ", "_"), backend))))


def check_sums(result, found, made):
    """Fewer only where the real-time kernel preempts our calls on maps: it skips hits on that CPU, which is told."""
    check_account(result, sum(made.values()), printed=sum(found.values()))
    assert set(found) <= set(made) and all(n <= made[name] for name, n in found.items()), result
    told = re.search(r"Lost (\d+) hits(?: \([\d.]+%\))?: \1 another BPF program was running on the CPU\n", result.err)
    assert result.lost == (int(told[1]) if told and "PREEMPT_RT" in os.uname().version else 0), result


@pytest.mark.parametrize("tool,name,backend", [*rows()])
def test_counts(workload, tmp_path, tool, name, backend):
    """User code is in a copy, which nobody else runs: without a filter. Elsewhere, -p is the filter."""
    event = EVENTS[name]
    program = shutil.copy(workload_path(event.workload), tmp_path / event.workload)
    n = scaled(500 if tool == "stacksnoop" else 2_000, least=200)
    work = workload(program, *(n * a if isinstance(a, int) else a for a in event.arguments), cpus=[0, 1])
    options = [] if "PATH" in event.patterns[0] else ["-p", work.pid]
    if tool != "funccount":
        options += ["-f", "-d" if event.kernel and tool == "stackcount" else "-U"]
    if event.backends[backend]:
        options += ["--without", event.backends[backend]]
    patterns = [pattern.replace("PATH", str(program)) for pattern in event.patterns]
    result, expected = trace(work, *options, *patterns, program=TOOLS[tool])
    made, found = Counter(), {}
    for chain, hits in ending(expected, *event.names).items():
        function = chain.rpartition(";")[2]
        for one in event.names[function]:
            made[one if tool == "funccount" else chain] += hits
    if tool == "funccount":
        found = parse_calls(result.ok().out).counts
    else:
        found = folded_chains(result.ok().out)[0] if tool == "stacksnoop" else chains(result.ok())
    assert len(made) > 0
    if name == "perf event":  # there are other page faults, too
        for one, hits in made.items():
            assert hits - result.lost <= found[one] and (tool == "funccount" or found[one] <= hits), result
        return
    check_sums(result, found, made)
    if "-d" in options:
        for parts, _ in read_folded(result.out):
            assert re.fullmatch(event.kernel, parts[-1]) and parts[-2] != parts[-1] and "do_syscall_64" in parts, result


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
    n = scaled(750_000)
    work = workload("syscalls", "getppid", n, n, 0 if not IN_GUEST else 8, cpus=[0, 1])
    options = ["-U"] if tool == "stackcount" else []
    result, expected = trace(work, *options, "-i", "0.05", "-p", work.pid, GETPPID, program=TOOLS[tool])
    assert result.ok().lost == 0, result
    if tool == "stackcount":
        totals = [report.total for report in parse_text(result.out).reports]
    else:
        totals = [sum(count for _, count in report.rows) for report in parse_calls(result.out).reports]
    assert sum(totals) == sum(expected.values()) and sum(map(bool, totals)) >= 2, totals
