# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--elapsed: counts are exactly a workload's, and times are within its own stamps around the same calls."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sums
from sums import RETURNS, below_run, expected_counts, read_sums, rows_of
from tool import PATIENCE_S, Live, scaled, stackcount, trace, wait_until, workload_path

pytestmark = pytest.mark.needs("uprobes")
NANOSLEEP = "t:syscalls:sys_enter_nanosleep"
GETPPID = "t:syscalls:sys_enter_getppid"
A, B = (f"{chain};work" for chain in (sums.A, sums.B))
WORK = f"{workload_path('elapsed')}:work"


def bounds_of(work):
    """{chain: (least, most)} of the times that the workload knows."""
    found = (re.fullmatch(r"time (\w) (\d+) (\d+)", line) for line in work.said)
    return {{"a": A, "b": B}[m[1]]: (int(m[2]), int(m[3])) for m in found if m}


def check_times(work, times):
    bounds = bounds_of(work)
    assert times.keys() == bounds.keys() == {A, B}
    for chain, (least, most) in bounds.items():
        assert least <= times[chain] <= most, (chain, times, bounds)


def not_paired(result):
    """{what: number} of the report's line."""
    found = re.search(r"^(?:\w+: )?Not paired: (.*)$", result.out + "\n" + result.err, re.M)
    return {what: int(n) for n, what in re.findall(r"(\d+) ([a-z ]+)", found[1])} if found else {}


OWN_PATH, BOTH = pytest.mark.needs("path of its own"), [0, 1]
CALLS = [
    pytest.param("sleep", scaled(500, 100), BOTH, [NANOSLEEP], id="system calls that sleep", marks=OWN_PATH),
    pytest.param("ppid", scaled(50_000), BOTH, [GETPPID], id="short system calls", marks=OWN_PATH),
    pytest.param("sleep", 500, None, [NANOSLEEP, "--until", "t:syscalls:sys_exit_*sleep"], id="--until names the end"),
    pytest.param("sleep", scaled(500, 100), BOTH, [WORK], id="functions that sleep", marks=OWN_PATH),
]


@pytest.mark.parametrize("kind, n, cpus, args", CALLS)
def test_calls(workload, kind, n, cpus, args):
    work = workload("elapsed", kind, n, cpus=cpus)
    result, expected = trace(work, "-U", "--format", "json", "--elapsed", "-p", work.pid, *args)
    times, counts, name = read_sums(result)
    assert name == ("elapsed", "nanoseconds")
    assert counts == below_run(expected)
    assert result.lost == 0, result
    check_times(work, times)


def test_a_function_and_the_calls_in_it(workload):
    """Rows of both are one here. The function's time has that of the system call, which it makes at once."""
    n = 500
    work = workload("elapsed", "sleep", n)
    result, _ = trace(work, "-U", "--format", "json", "--elapsed", "-p", work.pid, WORK, NANOSLEEP)
    times, counts, _ = read_sums(result)
    assert counts == {A: 2 * n, B: 2 * n}
    for chain, (least, most) in bounds_of(work).items():
        assert 2 * least <= times[chain] <= 2 * most, (times, bounds_of(work))


def ends_by_function(document):
    """{innermost function: pairs} of a report as JSON."""
    ends = Counter()
    for stack in document["stacks"]:
        ends[document["frames"][stack["user"][0]].get("name", "?")] += stack["values"][1]
    return dict(ends)


@pytest.mark.needs("path of its own")
def test_functions_that_return_in_every_way_or_not_at_all(workload):
    """
    Several exits, tail calls, 201 calls in each other; exceptions and longjmp(), which leave functions
    unfinished. One is a jump to another, and nothing else.
    """
    n = scaled(1_200, least=120) // 120 * 120
    calls, returns = expected_counts(n)
    work = workload("returns", n, cpus=[0, 1])
    result, _ = trace(work, "-U", "--format", "json", "--elapsed", "-p", work.pid, *(f"{RETURNS}:{name}" for name in calls))
    document = json.loads(result.ok().out)
    assert "1 of 11 functions have no time and are not traced" in result.err
    assert ends_by_function(document) == {name: n for name, n in returns.items() if name != "by_pointer"}
    n_unfinished = sum(calls[name] - returns[name] for name in calls)
    assert document["losses"] == [{"reason": "not paired: unfinished", "count": n_unfinished}]


def life_of(work):
    """(time, time on a CPU, how often its threads left the CPU) as the workload says it."""
    return next(tuple(map(int, line.split()[1:])) for line in work.said if line.startswith("life "))


def check_switches(work, *args):
    """
    Of a thread's life, what is not on a CPU: its sleeps, and no more than its life. Returns the number of
    unfinished pairs, and that of switches.
    """
    result, _ = trace(work, "--format", "json", "--elapsed", "-p", work.pid, *args, "t:sched:sched_switch")
    document = json.loads(result.ok().out)
    times, counts = rows_of(document), rows_of(document, 1)
    wall, cpu, n = life_of(work)
    n_unfinished = sum(loss["count"] for loss in document["losses"] if loss["reason"] == "not paired: unfinished")
    print(f"{n} switches, {n_unfinished} unfinished, {wall} ns, {cpu} on a CPU, {sum(times.values())} off")
    assert result.lost == 0, result
    # The threads may leave the CPU once more, between the workload's stamps and the begin or end of run().
    assert abs(sum(counts.values()) + n_unfinished - n) <= 4
    assert sum(times.values()) < wall
    for chain, (least, most) in bounds_of(work).items():
        assert least / 2 <= times[chain] <= most, (chain, times, bounds_of(work))
    return n_unfinished, n


def test_threads_until_they_are_back(workload):
    """This machine's kernel does not trace each switch: where that one is missing that brings a thread back, its pair is unfinished."""
    n_unfinished, n = check_switches(workload("elapsed", "sleep", 1_000, cpus=[0, 1]))
    assert 5 * n_unfinished < n


@pytest.mark.core
@pytest.mark.needs("guest", "path of its own")
def test_threads_until_they_are_back_in_guests(workload):
    assert check_switches(workload("elapsed", "sleep", 300, cpus=[0, 1]))[0] <= 2


@pytest.mark.needs("unwinding")
def test_deferred_beginnings_keep_their_stacks():
    """The program is new, so its first stacks wait for its tables. Their ends come long before these."""
    n = 50
    command = [workload_path("elapsed"), "--quiet", "sleep", n]
    result = stackcount("-U", "--format", "json", "--elapsed", NANOSLEEP, "--", *command)
    _, counts, _ = read_sums(result)
    assert counts == {A: n, B: n}
    assert json.loads(result.out.splitlines()[-1])["losses"] == [], result


SLEEP = "import ctypes; ctypes.CDLL(None).syscall(35, (ctypes.c_long * 2)(1000, 0), None)"
DEATHS = f"""
import os, signal
for _ in range(8):
    pid = os.fork()
    if not pid:
        {SLEEP}
    while open(f"/proc/{{pid}}/syscall").read().split()[0] != "35":
        pass
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""


@pytest.mark.needs("path of its own")
def test_threads_that_die_in_between():
    """Each is killed in its only call, from which it returns so. It does not do what follows the call."""
    n, command = 8, [sys.executable, "-c", DEATHS]
    result = stackcount("-U", "--elapsed", NANOSLEEP, "--", *command).ok()
    assert sum(map(int, re.findall(r" \((\d+) hits?\)$", result.out, re.M))) == n and not_paired(result) == {}, result
    result = stackcount("-U", "--elapsed", NANOSLEEP, "--until", GETPPID, "--", *command).ok()
    assert not_paired(result) == {"unfinished": n} and result.lost == 0, result
    assert " hits)" not in result.out, result


def sleeper():
    """In its system call."""
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    wait_until(lambda: Path(f"/proc/{process.pid}/syscall").read_text().split()[0] == "35", "it does not sleep")
    return process


def test_calls_that_began_before_the_run_and_that_do_not_end():
    """The early one is killed, and so returns from its call."""
    early, late = sleeper(), None
    try:
        with Live(["-U", "--elapsed", NANOSLEEP]) as tool:
            late = sleeper()
            early.kill()
            early.wait(PATIENCE_S)
            result = tool.end().ok()
        found = not_paired(result)
        assert found["unfinished"] >= 1 and found["ended without a beginning"] >= 1, result
    finally:
        for process in filter(None, (early, late)):
            process.kill()
            process.wait()


# Its end ends all sleeps. What it waits in itself is another call.
SLEEPERS = """
import glob, os, select, threading, time
for i in range(700):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
while sum(open(path).read().startswith("230 ") for path in glob.glob("/proc/self/task/*/syscall")) < 700:
    select.select([], [], [], 0.05)
os._exit(0)
"""


def test_no_room_for_beginnings():
    """There is room for 512. Each thread that sleeps takes one."""
    event = "t:syscalls:sys_enter_clock_nanosleep"
    result = stackcount("-U", "--debug", "--max-memory", "1M", "--elapsed", event, "--", "/usr/bin/python3", "-c", SLEEPERS)
    lost = result.ok().lost_by("no room for a beginning (see --max-memory)")
    assert lost > 100, result
    counts = [int(n) for n in re.findall(r"\((\d+) hits?\)", result.out)]
    assert sum(counts) + lost == 700 and not_paired(result) == {"ended without a beginning": lost}, result
    assert "700 pairs have begun" in result.err, result
