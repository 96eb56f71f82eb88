# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of single events: stacksnoop at high rates, for the tool and for the traced program."""

import os
import re
import select
import shutil
import signal
import subprocess
import time

from events import GETPPID, Loads, attempt, in_turn
from table import middle, ratios, shown
from tracer import DEVNULL, HEADER, Failed, Tracer, counts, cpu_s, descriptors, spawn, wait_for_end

TARGET = "t:" + ":".join(GETPPID)
RATE, SECONDS = 300_000, 10
BURST = 300_000
CPU_S_PER_100000 = 0.15
# 'load' first makes a tenth more, to warm up.
LOAD_BURST = BURST * 10 // 11


class Reader:
    """A tracer whose standard output goes to /dev/null: its messages and its CPU time. bpftrace
    prints losses to standard output, so that goes through grep(1)."""

    def __init__(self, argv, marker=None, timeout=30):
        self.argv, self.marker, self.timeout = [str(a) for a in argv], marker, timeout
        self.text, self.grep = b"", 0

    def __enter__(self):
        stdin, self.stdin = os.pipe2(os.O_CLOEXEC)
        self.stderr, write = os.pipe2(os.O_CLOEXEC)
        if "bpftrace" in self.argv[0]:
            output, stdout = os.pipe2(os.O_CLOEXEC)
            self.grep = spawn([shutil.which("grep"), "-a", "^Lost "], output, write)
            os.close(output)
        else:
            stdout = os.dup(DEVNULL)
        self.pid = spawn(self.argv, stdin, stdout, write)
        for fd in (stdin, stdout, write):
            os.close(fd)
        try:
            self._wait_until_live()
        except Failed:
            self.__exit__()
            raise
        return self

    def _read(self, seconds):
        if not select.select([self.stderr], [], [], seconds)[0]:
            return None
        part = os.read(self.stderr, 1 << 16)
        self.text += part
        return part

    def _has_link(self):
        kinds = descriptors(self.pid)
        return any("bpf_link" in kind or "perf_event" in kind for kind in kinds)

    def _wait_until_live(self):
        """Wait for @marker on standard error; without a marker, for the probe."""
        deadline = time.monotonic() + self.timeout
        while not (re.search(self.marker, self.text) if self.marker else self._has_link()):
            if time.monotonic() > deadline or self._read(0.01) == b"":
                words = self.text.decode(errors="replace").strip().splitlines() or ["no words"]
                raise Failed(f"{os.path.basename(self.argv[0])}: {words[-1]}")
        time.sleep(0.3)

    def cpu_s(self):
        return cpu_s(self.pid)

    def wait_until_idle(self):
        """Wait until the tracer has read all events. One that polls always takes a little CPU time."""
        before = self.cpu_s()
        while True:
            time.sleep(0.1)
            now = self.cpu_s()
            if now - before < 0.01:
                return now
            before = now

    def stop(self):
        """End the tracer. Returns the number of lost events that it reported."""
        if self.argv[0].endswith("/ring"):
            os.close(self.stdin)
            self.stdin = -1
        else:
            os.kill(self.pid, signal.SIGINT)
        while self._read(self.timeout):
            pass
        status = wait_for_end(self.pid, self.timeout)
        if status is None:
            raise Failed(f"{os.path.basename(self.argv[0])}: not ended after {self.timeout} s")
        self.pid = 0
        if status:
            raise Failed(f"{os.path.basename(self.argv[0])}: exit status {status}")
        return lost(self.text)

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.grep:
            os.waitpid(self.grep, 0)
        os.close(self.stderr)
        if self.stdin >= 0:
            os.close(self.stdin)


def lost(text):
    """The number of lost events: stacksnoop and ring print the sum at the end, bpftrace each new loss."""
    last = re.findall(rb"^stacksnoop: Lost (\d+) hits?: |lost (\d+)$", text, re.M)
    if last:
        return int(last[-1][0] or last[-1][1])
    return sum(map(int, re.findall(rb"^Lost (\d+) events", text, re.M)))


def readers(setup):
    """(name, argv for processes, marker, most CPU seconds per 100,000 events)"""
    def snoop(*options):
        return lambda pids: [setup.stacksnoop, *options, "-p", ",".join(map(str, pids)), TARGET]

    def bpftrace(program):
        def argv(pids):
            wanted = " || ".join(f"pid == {pid}" for pid in pids)
            return [shutil.which("bpftrace"), "-e", f"{TARGET} /{wanted}/ {{ {program} }}"]
        return argv

    yield ("floor ring", lambda pids: [setup.bench / "ring", *GETPPID, pids[0], pids[-1]],
           rb"^live", None)
    yield "stacksnoop", snoop(), None, CPU_S_PER_100000
    yield "stacksnoop -f", snoop("-f"), HEADER, 2 * CPU_S_PER_100000
    yield "stacksnoop --json", snoop("--json"), HEADER, 2 * CPU_S_PER_100000
    yield "stacksnoop -K", snoop("-K"), None, None
    if shutil.which("bpftrace"):
        yield "bpftrace printf kstack", bpftrace('printf("%s", kstack)'), None, None
        yield "bpftrace printf both", bpftrace('printf("%s%s", kstack, ustack)'), None, None


def start_load(setup, arguments):
    argv = [str(setup.bench / "load"), "wait", *map(str, arguments)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def run_loads(running):
    """Run the loads at the same time. Returns the seconds of the longest."""
    begin = time.monotonic()
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    texts = [process.communicate()[0] for process in running]
    said = re.findall(r"seconds (\S+)", " ".join(texts))
    return max(map(float, said)) if said else time.monotonic() - begin


def read_all(setup, argv, marker, n_events, *loads):
    """(lost, CPU seconds per 100,000 events, events per second) for the events of the loads."""
    running = [start_load(setup, load) for load in loads]
    try:
        with Reader(argv([process.pid for process in running]), marker) as reader:
            before = reader.cpu_s()
            rate = n_events / run_loads(running)
            cpu = reader.wait_until_idle() - before
            return reader.stop(), cpu * 100_000 / n_events, rate
    finally:
        for process in running:
            process.stdin.close()
            process.wait()
            process.stdout.close()


def add_reading(setup, table, title, rounds, n_events, *loads):
    table.title(title)
    jobs = list(readers(setup))
    got = {name: [] for name, *_ in jobs}
    for r in range(rounds):
        setup.progress(f"{title}: round {r + 1} of {rounds}")
        for name, argv, marker, _ in in_turn(jobs, r):
            run = attempt(setup, name, lambda: read_all(setup, argv, marker, n_events, *loads))
            got[name].append(run or (None, None, None))
    for name, _, _, most in jobs:
        n_lost, cpu, rate = (middle(column) for column in zip(*got[name]))
        ours = most is not None
        table.add(f"{name}: lost", f"{shown(n_lost, f'of {n_events}')} (at {shown(rate, '/s')})",
                  None, "", ("value", 0, n_lost) if ours else None)
        floor = [run[1] for run in got["floor ring"]]
        ratio = ratios([run[1] for run in got[name]], floor) if name != "floor ring" else None
        table.add(f"{name}: its CPU time per 100,000", shown(cpu, "s", 3), ratio, "floor ring",
                  ("value", most, cpu) if ours else None)


def held(setup, loads, name, options, cpus):
    """ns per event for the traced program. No event may be lost, because lost events are cheaper."""
    if name == "stackcount":
        with Tracer([str(setup.stackcount), *options, TARGET]) as tracer:
            figure = loads.run(cpus)
            tracer.stop()
            n_lost = loads.n * len(cpus) - sum(counts(tracer.text))
    else:
        with Reader([setup.stacksnoop, *options, TARGET]) as reader:
            figure = loads.run(cpus)
            n_lost = reader.stop()
    if n_lost > 0:
        raise Failed(f"{name} {' '.join(options)}: lost {n_lost}")
    return figure


def add_traced_side(setup, table):
    table.title("Each event, on the traced side (load getppid)")
    loads = Loads(setup, "getppid", setup.events // 2)
    jobs = [(name, options) for options in ((), ("-K",), ("-U",)) for name in ("stackcount", "stacksnoop")]
    one, two = ({job: [] for job in jobs} for _ in range(2))
    for r in range(setup.rounds):
        setup.progress(f"traced side: round {r + 1} of {setup.rounds}")
        for name, options in in_turn(jobs, r):
            for cpus, to in (([1], one), ([0, 1], two)):
                before = loads.run(cpus)
                figure = attempt(setup, name, lambda: held(setup, loads, name, options, cpus))
                base = (before + loads.run(cpus)) / 2
                to[name, options].append(None if figure is None else figure - base)
    for costs, what in ((one, ""), (two, ", two CPUs at once")):
        for name, options in jobs:
            against = ("stackcount", options)
            ratio = ratios(costs[name, options], costs[against]) if name == "stacksnoop" else None
            goal = ("ratio", 1.15, ratio) if ratio is not None or name == "stacksnoop" else None
            table.add(" ".join((name, *options)) + what, shown(middle(costs[name, options]), "ns"),
                      ratio, " ".join(("stackcount", *options)), goal)


def add_start(setup, table):
    table.title("stacksnoop: exec to live")
    runs = []
    for _ in range(3 * setup.rounds):
        with Tracer([str(setup.stacksnoop), TARGET], rb"TIME\(s\)") as tracer:
            runs.append(tracer.live_s * 1000)
            tracer.stop()
    ms = middle(runs)
    table.add(f"stacksnoop {TARGET}", f"{shown(ms, 'ms', 1)} (best {min(runs):.1f})")


def stacksnoop(setup, table):
    rounds = (setup.rounds + 2) // 3
    n = RATE * SECONDS
    add_reading(setup, table, f"stacksnoop: {RATE} events a second for {SECONDS} s, one CPU, both stacks",
                rounds, n, ["paced", RATE, SECONDS, 1])
    add_reading(setup, table, f"stacksnoop: the same from two CPUs, {RATE // 2} each", 1, n,
                *(["paced", RATE // 2, SECONDS, cpu] for cpu in (0, 1)))
    add_reading(setup, table, f"stacksnoop: {BURST} events at full speed, one CPU",
                setup.rounds, BURST, ["getppid", LOAD_BURST, 1])
    add_reading(setup, table, f"stacksnoop: {BURST} events at full speed, two CPUs",
                setup.rounds, BURST, *(["getppid", LOAD_BURST // 2, cpu] for cpu in (0, 1)))
    add_traced_side(setup, table)
    add_start(setup, table)
