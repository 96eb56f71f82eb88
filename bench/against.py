# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compare two builds of stackcount, in turns: a table of the costs of a change."""

import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from copy import copy
from pathlib import Path

from events import GETPPID as GETPPID_EVENT
from events import Loads, attempt, held
from following import EACH, MORE_SECONDS, NONE, RATE, SECONDS, spawn_all
from lifetime import GETPPID, Process
from names import images_run, large_files
from table import middle, ratios, shown
from tracer import Tracer, cpu_s

INTERRUPTS_OFF = "t:sched:sched_process_fork"
PAUSE_S = 0.3  # without it, each start waits for RCU, because the tracer before it has removed probes


def sides(setup):
    """(of the other build, of this one)"""
    other = copy(setup)
    folder = setup.tmp / "other"
    folder.mkdir()
    other.stackcount = Path(shutil.copy(setup.against, folder / "stackcount"))
    for name in ("funccount", "stacksnoop"):
        (folder / name).symlink_to("stackcount")
        setattr(other, name, folder / name)
    return other, setup


def turn_by_turn(setup, what, rounds, measure):
    """[results of the other build, results of this one]: a tuple of each round, or None."""
    both, got = sides_of(setup), ([], [])
    for r in range(rounds):
        setup.progress(f"{what}: round {r + 1} of {rounds}")
        for i in (0, 1) if r % 2 else (1, 0):
            got[i].append(attempt(setup, what, lambda: measure(both[i])))
    return got


def sides_of(setup):
    if not hasattr(setup, "sides"):
        setup.sides = sides(setup)
    return setup.sides


def add(table, what, got, k, unit, digits=0, has_ratio=True):
    """Add a row: figure @k of both builds, by rounds."""
    before, now = ([run and run[k] for run in side] for side in got)
    table.add(what, f"{shown(middle(before), unit, digits)} -> {shown(middle(now), unit, digits)}",
              ratios(now, before) if has_ratio else None, "before")


def own_processes(pid):
    """@pid and all its descendants that live."""
    found = [pid]
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in os.scandir(f"/proc/{pid}/task"):
            for child in Path(task.path, "children").read_text().split():
                found += own_processes(int(child))
    return found


def family_cpu_s(pid):
    """cpu_s() and the CPU time of children that have ended, in whole ticks."""
    ticks = 0
    with suppress(FileNotFoundError, ProcessLookupError):
        ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]))
    return cpu_s(pid) + ticks / os.sysconf("SC_CLK_TCK")


def memory_kib(pid):
    """(anonymous memory of all its processes, memory of its BPF maps)"""
    anonymous = maps = 0
    for one in own_processes(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            anonymous += int(re.search(r"^Anonymous:\s*(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.M)[1])
    with suppress(FileNotFoundError, ProcessLookupError):
        for info in os.scandir(f"/proc/{pid}/fdinfo"):
            with suppress(FileNotFoundError, ProcessLookupError):
                text = Path(info.path).read_text()
                found = re.search(r"^memlock:\s*(\d+)", text, re.M)
                maps += int(found[1]) // 1024 if found and "map_type" in text else 0
    return anonymous, maps


# -- Starts. --

def start_jobs(pid):
    yield "stackcount, a tracepoint", "stackcount", [GETPPID]
    yield "the same, --unwind fp", "stackcount", ["--unwind", "fp", GETPPID]
    yield "the same, -K", "stackcount", ["-K", GETPPID]
    yield "stackcount, interrupts off", "stackcount", [INTERRUPTS_OFF]
    yield "stackcount -p PID c:malloc", "stackcount", ["-p", pid, "c:malloc"]
    yield "funccount -p PID c:malloc", "funccount", ["-p", pid, "c:malloc"]
    yield "stacksnoop -f, a tracepoint", "stacksnoop", ["-f", GETPPID]


def live(side, program, options):
    time.sleep(PAUSE_S)
    with Tracer([str(getattr(side, program)), *map(str, options)]) as tracer:
        found = tracer.live_s * 1000, *(kib / 1024 for kib in memory_kib(tracer.pid))
        tracer.stop()
    return found


def starts(setup, table):
    table.title("Start: exec to live; memory then, of all its processes and of the kernel's maps")
    with Process(setup.bench / "load", "sleep") as sleeper:
        for what, program, options in start_jobs(sleeper.pid):
            got = turn_by_turn(setup, what, 3 * setup.rounds, lambda side: live(side, program, options))
            add(table, what, got, 0, "ms", 1)
            add(table, f"{what}: anonymous memory", got, 1, "MiB", 1)
            add(table, f"{what}: maps", got, 2, "MiB", 1)


# -- Events. --

EVENTS = (("-K", "load", ["-K"]), ("default, without frame pointers", "load-nofp", []),
          ("-U, without frame pointers", "load-nofp", ["-U"]), ("-U --unwind fp", "load", ["-U", "--unwind", "fp"]))


def event_cost(side, loads, options):
    """Over the untraced load right before and after."""
    before = loads.run([1])
    target = "t:" + ":".join(GETPPID_EVENT)
    figure = held(loads, "stackcount", [side.stackcount, *options, target], [1])
    return (figure - (before + loads.run([1])) / 2,)


def events(setup, table):
    table.title(f"Per event, {GETPPID}")
    for what, program, options in EVENTS:
        loads = Loads(setup, "getppid", setup.events, program)
        got = turn_by_turn(setup, what, setup.rounds, lambda side: event_cost(side, loads, options))
        add(table, what, got, 0, "ns")


# -- Following. --

FOLLOWED = (("not hit", [NONE]), ("not hit, --unwind fp", ["--unwind", "fp", NONE]), ("a hit in each", [EACH]),
            ("a hit in each, --unwind fp", ["--unwind", "fp", EACH]))


def follow(side, options, argv):
    """(us: CPU time of the tool for a process, and the additional time of a process; MiB: then, and after more)"""
    with Tracer([str(side.stackcount), *options]) as tracer:
        time.sleep(0.5)
        before = {pid: family_cpu_s(pid) for pid in own_processes(tracer.pid)}
        us = spawn_all(side, argv)[1]
        time.sleep(0.2)
        spent = sum(family_cpu_s(pid) - before.get(pid, 0) for pid in own_processes(tracer.pid))
        then = memory_kib(tracer.pid)[0] / 1024
        spawn_all(side, argv, MORE_SECONDS)
        later = memory_kib(tracer.pid)[0] / 1024
        tracer.stop()
    untraced = spawn_all(side, argv)[1]
    return spent * 1e6 / (RATE * SECONDS), us - untraced, then, later


def following(setup, table):
    table.title(f"Following {RATE} processes a second that do nothing")
    for what, options in FOLLOWED:
        argv = [setup.bench / "nothing"]
        got = turn_by_turn(setup, f"following, {what}", (setup.rounds + 2) // 3, lambda side: follow(side, options, argv))
        add(table, f"{what}: CPU time of the tool for each", got, 0, "us", 1)
        add(table, f"{what}: a process takes more", got, 1, "us", 0, False)
        add(table, f"{what}: anonymous memory after {SECONDS} s", got, 2, "MiB", 1)
        add(table, f"{what}: after {SECONDS + MORE_SECONDS} s", got, 3, "MiB", 1)


# -- Names. --

def names(setup, table):
    table.title("Names: 200,000 distinct stacks over 50 files")
    files = large_files()

    def run(side):
        found = images_run(side, "shared", files)
        return found["taken"], found["rss"], found["stacks"], found["unnamed"]

    got = turn_by_turn(setup, "names", max(1, setup.rounds // 2), run)
    add(table, "Ctrl-C to exit", got, 0, "s", 2)
    add(table, "peak RSS", got, 1, "MiB")
    add(table, "stacks", got, 2, "", 0, False)
    add(table, "frames without a name", got, 3, "", 0, False)


def size(setup, table):
    table.title("Size")
    for what, side in zip(("before", "now"), sides_of(setup)):
        stripped = setup.tmp / f"stripped-{what}"
        subprocess.run(["strip", "-o", stripped, side.stackcount], check=True)
        table.add(f"stripped program, {what}", shown(stripped.stat().st_size / (1 << 20), "MiB", 2))


def against(setup, table):
    for step in (starts, events, following, names, size):
        step(setup, table)
