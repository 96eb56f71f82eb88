# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of following processes: for the tool, for each process, and with -K, which follows none."""

import re
import subprocess
import time

from events import attempt, in_turn
from lifetime import GETPPID, live_then_stop
from table import middle, ratios, shown
from tracer import Tracer, cpu_s, descriptors

RATE = 1000
SECONDS = 5
MORE_SECONDS = 10
NONE = "t:syscalls:sys_enter_sethostname"  # getppid() is the shell's, too
EACH = "t:syscalls:sys_enter_exit_group"


def spawn_all(setup, argv, seconds=SECONDS):
    """(seconds it took, CPU time of one process in us)"""
    done = subprocess.run([setup.bench / "spawn", str(RATE), str(seconds), *map(str, argv)],
                          input="\n", capture_output=True, text=True, check=True)
    found = re.search(r"seconds (\S+) us (\S+)", done.stdout)
    return float(found[1]), float(found[2])


def lost_records(text):
    """The number of lost records; -1: unknown, but not 0."""
    told = re.findall(rb"lost (\d+ )?process records", text)
    return -1 if b"" in told else sum(map(int, told))


def follow(setup, options, argv):
    """% of a CPU, us per process, records lost, RSS in MiB before, then, and after more"""
    with Tracer([str(setup.stackcount), *options]) as tracer:
        time.sleep(0.5)
        rss = [tracer.status("VmRSS") / 1024]
        before = cpu_s(tracer.pid)
        taken, us = spawn_all(setup, argv)
        time.sleep(0.2)
        percent = (cpu_s(tracer.pid) - before) * 100 / taken
        rss.append(tracer.status("VmRSS") / 1024)
        spawn_all(setup, argv, MORE_SECONDS)
        rss.append(tracer.status("VmRSS") / 1024)
        tracer.stop()
        return percent, us, lost_records(tracer.text), *rss


JOBS = (("followed, not hit", [NONE], 5), ("followed, a hit in each", [EACH], None),
        ("-K, a hit in each", ["-K", EACH], None))


def follow_each(setup, title, rounds, argv):
    """(results of follow() by job, times of untraced processes before and after each)"""
    got, base = ({name: [] for name, *_ in JOBS} for _ in range(2))
    for r in range(rounds):
        setup.progress(f"following {title}: round {r + 1} of {rounds}")
        before = spawn_all(setup, argv)[1]
        for name, options, _ in in_turn(JOBS, r):
            run = attempt(setup, name, lambda: follow(setup, options, argv))
            after = spawn_all(setup, argv)[1]
            got[name].append(run or (None,) * 6)
            base[name].append((before + after) / 2)
            before = after
    return got, base


def add_following(setup, table, title, rounds, argv):
    table.title(f"Following {RATE} processes a second for {SECONDS} s: {title}")
    got, base = follow_each(setup, title, rounds, argv)
    table.add("untraced: CPU time of a process", shown(middle(sum(base.values(), [])), "us"))
    for name, _, most in JOBS:
        percent, _, n_lost, *rss = (middle(column) for column in zip(*got[name]))
        each = [run[1] for run in got[name]]
        more = middle([us - b for us, b in zip(each, base[name]) if us is not None])
        table.add(f"{name}: CPU time of the tool", shown(percent, "% of a CPU", 1), None, "",
                  ("value", most, percent) if most else None)
        table.add(f"{name}: a process takes more", shown(more, "us"), ratios(each, base[name]),
                  "untraced")
        table.add(f"{name}: records lost", shown(n_lost, "").strip(), None, "",
                  ("value", 0, n_lost and abs(n_lost)) if most else None)
        table.add(f"{name}: RSS when live, {SECONDS} s later, {SECONDS + MORE_SECONDS} s later",
                  ", ".join(shown(mib, "MiB", 1) for mib in rss))


def perf_events(setup, options):
    with Tracer([str(setup.stackcount), *options, GETPPID]) as tracer:
        kinds = descriptors(tracer.pid)
        tracer.stop()
    return sum("perf_event" in kind for kind in kinds)


def add_start(setup, table):
    table.title("Following: what it starts")
    jobs = [("-K, nothing is followed", ["-K"]), ("default", [])]
    got = {name: [] for name, _ in jobs}
    for r in range(3 * setup.rounds):
        for name, options in in_turn(jobs, r):
            run = attempt(setup, name,
                          lambda: live_then_stop([setup.stackcount, *options, GETPPID]))
            got[name].append(run or (None, None))
    for name, options in jobs:
        live = [None if s is None else s * 1000 for s, _ in got[name]]
        others = [None if s is None else s * 1000 for s, _ in got[jobs[0][0]]]
        ratio = ratios(live, others) if options != ["-K"] else None
        table.add(f"{name}: exec to live", shown(middle(live), "ms", 1), ratio, "-K")
        table.add(f"{name}: RSS when live", shown(middle([mib for _, mib in got[name]]), "MiB", 1))
        table.add(f"{name}: perf events open", str(perf_events(setup, options)))


def following(setup, table):
    rounds = (setup.rounds + 2) // 3
    add_start(setup, table)
    add_following(setup, table, "a static program that does nothing", rounds,
                  [setup.bench / "nothing"])
    add_following(setup, table, "sh -c true", rounds, ["/bin/sh", "-c", "true"])
