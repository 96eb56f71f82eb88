# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of an event, on one CPU and on two at once."""

import os
import re
import shutil
import subprocess
import time

from table import middle, ratios, shown
from tracer import DEVNULL, Failed, Tracer, counts, spawn

GETPPID = ("syscalls", "sys_enter_getppid")
UDP = ("net", "net_dev_queue")


# The kernel's unwind tables are copied once counting has begun: 30 ms of CPU time, and a wait for RCU.
KERNEL_TABLES_S = 0.3


class Loads:
    """Runs 'load' and returns the time of an event."""

    def __init__(self, setup, kind, n_events, program="load"):
        self.program, self.kind, self.n = setup.bench / program, kind, n_events

    def argv(self, cpu):
        return [str(self.program), self.kind, str(self.n), str(cpu)]

    def run(self, cpus):
        """ns per event: the mean of all CPUs, which work at the same time."""
        running = []
        for cpu in cpus:
            read, write = os.pipe2(os.O_CLOEXEC)
            running.append((read, spawn(self.argv(cpu), DEVNULL, write)))
            os.close(write)
        figures = []
        for read, pid in running:
            with os.fdopen(read) as text:
                figures.append(float(re.search(r"ns (\S+)", text.read())[1]))
            os.waitpid(pid, 0)
        return sum(figures) / len(figures)


def tracers(setup, event):
    """(name, argv) of tracers that run until they are ended."""
    category, name = event
    target = f"t:{category}:{name}"
    # Each next to its floor.
    for program, options in (("empty", None), ("kernel", "-K"), ("both", ""), ("user", "-U")):
        yield f"floor {program}", [setup.bench / "floor", program, category, name]
        if options is not None:
            argv = [setup.stackcount, *options.split(), target]
            yield f"stackcount {options}".strip(), argv
        if program == "kernel":
            yield "stackcount -K, helper", [setup.stackcount, "-K", "--kernel-unwind", "helper", target]
        if program in ("both", "user"):
            argv = [setup.stackcount, *options.split(), "--unwind", "fp", target]
            yield " ".join(["stackcount", *options.split(), "--unwind fp"]), argv
    bcc = shutil.which("stackcount-bpfcc")
    if bcc:
        yield "bcc stackcount -K", [bcc, "-K", target]
        yield "bcc stackcount", [bcc, target]


def wrappers(setup, event):
    """(name, argv of load -> argv) of tracers that run a command once they are live."""
    category, name = event
    bpftrace, perf = shutil.which("bpftrace"), shutil.which("perf")
    if bpftrace:
        for what, key in (("kstack", "[kstack]"), ("both", "[kstack,ustack]"), ("count", "")):
            program = f"t:{category}:{name} {{ @{key} = count() }}"
            yield f"bpftrace {what}", lambda load, p=program: [bpftrace, "-e", p, "-c", " ".join(load)]
    if perf:
        events = ["-a", "-e", f"{category}:{name}"]
        data = str(setup.tmp / "perf.data")
        yield "perf record -g", lambda load: [perf, "record", "-q", "-g", "-o", data, *events, "--", *load]
        yield "perf stat", lambda load: [perf, "stat", *events, "--", *load]


def held(loads, name, argv, cpus):
    """ns per event under a tracer, which must have counted all events."""
    argv = [str(a) for a in argv]
    marker = rb"^live" if name.startswith("floor") else rb"Tracing \d+ functions for"
    with Tracer(argv, marker, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as tracer:
        if argv[0].endswith("/stackcount"):
            time.sleep(KERNEL_TABLES_S)
        figure = loads.run(cpus)
        tracer.stop()
        counted = sum(counts(tracer.text))
        if not name.startswith("floor") and counted < loads.n * len(cpus):
            raise Failed(f"{name}: counted {counted} of {loads.n * len(cpus)}")
    return figure


def wrapped(loads, argv):
    done = subprocess.run(argv(loads.argv(1)), stdin=DEVNULL, capture_output=True, text=True)
    found = re.search(r"^ns (\S+)", done.stdout, re.M)
    if not found:
        raise Failed((done.stderr.strip().splitlines() or ["no words"])[-1])
    return float(found[1])


def attempt(setup, name, measure):
    try:
        return measure()
    except Failed as why:
        setup.note(f"{name}: {why}")
        return None


def in_turn(jobs, r):
    """The jobs, in another order each round. Neighbours stay together."""
    turn = r * 3 % len(jobs)
    turned = jobs[turn:] + jobs[:turn]
    return turned[::-1] if r % 2 else turned


def measure_one(setup, loads, event):
    """{name: [ns over the untraced load, per round]}. The machine's speed changes within seconds,
    so the untraced load runs before and after each job."""
    jobs = [(n, lambda n=n, a=a: held(loads, n, a, [1])) for n, a in tracers(setup, event)]
    jobs += [(n, lambda a=a: wrapped(loads, a)) for n, a in wrappers(setup, event)]
    costs = {"untraced": [], **{name: [] for name, _ in jobs}}
    for r in range(setup.rounds):
        setup.progress(f"{event[1]}: round {r + 1} of {setup.rounds}")
        before = loads.run([1])
        for name, job in in_turn(jobs, r):
            figure = attempt(setup, name, job)
            after = loads.run([1])
            costs[name].append(None if figure is None else figure - (before + after) / 2)
            costs["untraced"].append(after)
            before = after
    return costs


# (name, its floor, the goal as a multiple of the floor: one, or one for each load)
PER_EVENT = [
    ("floor empty", None, None),
    ("floor kernel", None, None),
    ("floor user", None, None),
    ("floor both", None, None),
    ("stackcount -K", "floor kernel", {"getppid": 0.33, "udp": 0.37}),
    ("stackcount -K, helper", "floor kernel", 1.05),
    ("stackcount", "floor both", {"getppid": 0.32, "udp": 0.36}),
    ("stackcount --unwind fp", "floor both", 0.75),
    ("stackcount -U", "floor user", 1.0),
    ("stackcount -U --unwind fp", "floor user", None),
    ("bcc stackcount -K", "floor kernel", None),
    ("bcc stackcount", "floor both", None),
    ("bpftrace kstack", "floor kernel", None),
    ("bpftrace both", "floor both", None),
    ("bpftrace count", "floor empty", None),
    ("perf record -g", "floor both", None),
    ("perf stat", "floor empty", None),
]


def per_event(setup, table, kind, n_events, event):
    table.title(f"Per event, t:{event[0]}:{event[1]} below five user frames (load {kind})")
    costs = measure_one(setup, Loads(setup, kind, n_events), event)
    table.add("untraced (all below: over this)", shown(middle(costs["untraced"]), "ns"))
    for name, floor, most in PER_EVENT:
        if name not in costs:
            continue
        ratio = ratios(costs[name], costs[floor]) if floor else None
        if isinstance(most, dict):
            most = most[kind]
        goal = ("ratio", most, ratio) if most else None
        table.add(name, shown(middle(costs[name]), "ns"), ratio, floor, goal)


def two_cpus(setup, table):
    """One hot stack each on two CPUs at once, against the same on one."""
    table.title("Two CPUs at once, one hot stack each (getppid)")
    loads = Loads(setup, "getppid", setup.events)
    wanted = ("floor kernel", "floor both", "stackcount -K", "stackcount")
    jobs = [(n, a) for n, a in tracers(setup, GETPPID) if n in wanted]
    one = {name: [] for name in wanted}
    two = {name: [] for name in wanted}
    for r in range(setup.rounds):
        setup.progress(f"two CPUs: round {r + 1} of {setup.rounds}")
        for name, argv in in_turn(jobs, r):
            for cpus, to in (([0], one), ([0, 1], two), ([1], one)):
                before = loads.run(cpus)
                figure = attempt(setup, name, lambda: held(loads, name, argv, cpus))
                base = (before + loads.run(cpus)) / 2
                to[name].append(None if figure is None else figure - base)
    for name in wanted:
        pairs = [middle(one[name][i : i + 2]) for i in range(0, len(one[name]), 2)]
        ratio = ratios(two[name], pairs)
        goal = ("ratio", 1.05, ratio) if name.startswith("stackcount") else None
        table.add(name, f"{shown(middle(pairs), 'ns')} -> {shown(middle(two[name]), 'ns')}",
                  ratio, "one CPU", goal)
