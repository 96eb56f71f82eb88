# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every option of bcc's stackcount, short and long, and those beyond."""

import fcntl
import os
import re
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from text import parse_text
from tool import GETPPID, PATIENCE_S, Live, Tool, chains, check_account, check_refused, ending, read_folded
from tool import stackcount, trace, workload_path

CALLS = workload_path("calls")


@pytest.mark.needs("uprobes")
@pytest.mark.parametrize("program,event", [
    (("syscalls", "getppid", 100, 0), GETPPID),
    (("calls", 100, 0, 0), f"{CALLS}:leaf"),
], ids=["tracepoint", "user function"])
def test_pid(workload, program, event):
    ours, other = (workload(*program) for _ in range(2))
    with Live(["-f", "-p", ours.pid, event]) as tool:
        other.run()
        ours.run()
        result = tool.end().ok()
    assert sum(count for _, count in read_folded(result.out)) == 100, result


def test_pid_does_not_hold_for_children():
    """A uprobe's own PID filter is inherited by fork; the process asked for is one."""
    with Live(["-K", "-f", "-p", os.getpid(), GETPPID]) as tool:
        child = os.fork()
        if not child:
            for _ in range(50):
                os.getppid()
            os._exit(0)
        os.waitpid(child, 0)
        result = tool.end().ok()
    assert result.out == "", "children were counted as the process itself"


@pytest.mark.parametrize(
    "event",
    [
        GETPPID,
        pytest.param(f"{CALLS}:leaf", marks=pytest.mark.needs("uprobes", "path of its own")),
        pytest.param("__x64_sys_getpriority", marks=pytest.mark.needs("kprobes", "way to kernel functions")),
    ],
)
def test_cpu(workload, event):
    if event.endswith("leaf"):
        work = workload("calls", 1000, 500, 0, cpus=[0, 1])
    else:
        work = workload("syscalls", "getppid" if event == GETPPID else "priority", 1000, 500, cpus=[0, 1])
    result, expected = trace(work, "-U", "-f", "-c", 1, "-p", work.pid, event)
    assert chains(result.ok()) == {chain: count // 2 for chain, count in expected.items() if count}, result


def test_regexp(workload):
    work = workload("calls", 10, 20, 30)
    result, expected = trace(work, "-f", "-r", "-p", work.pid, f"{CALLS}:^leaf(_bare)?$")
    assert chains(result.ok()) == ending(expected, "leaf", "leaf_bare"), result


def test_events_ends_after_so_many_hits(workload):
    work = workload("syscalls", "getppid", 5000, 5000)
    result, _ = trace(work, "-U", "-f", "-n", "700", "-p", work.pid, GETPPID, end=False)
    assert sum(count for _, count in read_folded(result.ok().out)) == 700, result


@pytest.mark.needs("uprobes")
def test_list_prints_what_matches_and_attaches_nothing():
    usdt = workload_path("usdt")
    for pattern, n in (("t:sched:sched_switch", 1), (f"{CALLS}:leaf*", 3), (f"u:{usdt}:*", 3), (f"u:{usdt}:alpha:tick", 1)):
        result = stackcount("-l", pattern).ok()
        assert len(result.out.splitlines()) == n and result.err == "", result
    check_refused(stackcount("-l", "t:sched:no_such_event*"), 1)


def test_command_is_counted_alone(workload):
    """Its hits and those of its short-lived children; another process's are not."""
    other = workload("syscalls", "getppid", 1000, 1000)
    command = f"read _; for i in $(seq 20); do {workload_path('syscalls')} --quiet getppid 200 0; done"
    with Live(["-K", "-f", GETPPID, "--", "sh", "-c", command], stdin=subprocess.PIPE) as tool:
        other.run()
        tool.process.stdin.write(b"\n")
        tool.process.stdin.close()
        result = tool.wait().ok()
    # A shell asks for its parent's number when it starts.
    assert 4000 <= sum(count for _, count in read_folded(result.out)) <= 4001, result


def test_the_signal_that_ended_the_command_is_in_the_report():
    result = stackcount("-f", GETPPID, "--", "sh", "-c", "kill -TERM $$").ok()
    assert "'sh' was ended by signal 15 (Terminated)" in result.err, result


def test_perpid_names_the_process(workload):
    """Its threads have names of their own, and do not split it."""
    work = workload("syscalls", "getppid", 20, 1, cpus=[0, 1], options=["--rename"])
    result, _ = trace(work, "-P", "-U", GETPPID)
    ours = [entry for entry in parse_text(result.ok().out).entries if entry.pid == work.pid]
    check_account(result, 42, sum(entry.count for entry in ours), most=42 + result.lost)
    assert sorted(entry.count for entry in ours) == [2, 40], result
    assert {entry.comm for entry in ours} == {"syscalls"}


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.thorough)])
def test_signal_ends_with_the_report(workload, number):
    work = workload("syscalls", "getppid", 40, 2)
    with Live(["-U", "-p", work.pid, GETPPID]) as tool:
        work.run()
        result = tool.end(number).ok()
    text = parse_text(result.out)
    check_account(result, 42, sum(entry.count for entry in text.entries))
    assert [entry.count for entry in text.entries] == [2, 40], result
    assert text.detached


def links_of(pid):
    """The kinds of its BPF links. Other descriptors come and go."""
    kinds = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            kinds.update(re.findall(r"^link_type:\t(\w+)", info.read_text(), re.M))
    return kinds


@pytest.mark.needs("uprobe.multi")
def test_probes_in_user_code_are_gone_before_the_report(workload):
    """Or it runs into each that is in a library of its own. The report does not fit into the pipe."""
    work = workload("ladder", 18, 2000, 1)
    probe = f"{workload_path('ladder')}:hit"
    with Tool(["-f", "-p", work.pid, probe], reads_later=True) as tool:
        fcntl.fcntl(tool.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        tool.wait_live()
        assert "uprobe_multi" in links_of(tool.process.pid)
        work.run()
        tool.process.send_signal(signal.SIGINT)
        assert select.select([tool.process.stdout], [], [], PATIENCE_S)[0], "no report"
        assert "uprobe_multi" not in links_of(tool.process.pid)
        tool.read_now()
        assert sum(n for _, n in read_folded(tool.wait().ok().out)) == 2000
