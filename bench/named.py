# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compared with perf and bpftrace, on the same processes: share of frames with a name, time, memory."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from events import attempt, in_turn
from lifetime import GETPPID, Process
from table import middle, shown
from tracer import DEVNULL, Failed, Watch, descriptors, spawn, wait_for_end

N_DISTINCT, N_EACH = 1024, 16
N_SHORT = 200
N_SHORT_EACH = 10


class Traced:
    """A tracer whose output goes to a file, ended by Ctrl-C."""

    def __init__(self, argv, out, env=None):
        self.name = os.path.basename(argv[0])
        self.err = Path(f"{out}.err")
        to, err = (os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
                   for path in (out, self.err))
        self.pid = spawn(argv, DEVNULL, to, err, env)
        os.close(to)
        os.close(err)

    def _holds_event(self):
        kinds = descriptors(self.pid)
        return any("bpf_link" in kind or "perf_event" in kind for kind in kinds)

    def __enter__(self):
        deadline = time.monotonic() + 30
        while not self._holds_event():
            if time.monotonic() > deadline or wait_for_end(self.pid, 0.01) is not None:
                words = self.err.read_text(errors="replace").strip().splitlines() or ["no words"]
                raise Failed(f"{self.name}: {words[-1]}")
        time.sleep(1)
        return self

    def stop(self):
        """(seconds to the exit, peak RSS in MiB)"""
        watch = Watch(self.pid)
        watch()
        begin = time.monotonic()
        os.kill(self.pid, signal.SIGINT)
        watch.until_end()
        self.pid = 0
        return time.monotonic() - begin, watch.peak

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def run_to_end(argv, out):
    """(seconds, peak RSS in MiB)"""
    begin = time.monotonic()
    fd = os.open(out, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    watch = Watch(spawn(argv, DEVNULL, fd))
    os.close(fd)
    if watch.until_end():
        raise Failed(f"{' '.join(argv[:2])}: exit status is not 0")
    return time.monotonic() - begin, watch.peak


class Share:
    """The share of user frames with a name, in processes called @comm, weighted by events."""

    def __init__(self, comm):
        self.comm, self.events, self.frames, self.named = comm, 0, 0, 0

    def add(self, comm, count, are_named):
        if comm == self.comm:
            self.events += count
            self.frames += count * len(are_named)
            self.named += count * sum(are_named)


def read_folded(text, share):
    """comm;main;run;hit 17"""
    for line in text.splitlines():
        parts, _, count = line.rpartition(" ")
        comm, *frames = parts.split(";")
        if count.isdigit():
            share.add(comm, int(count), [not f.startswith("[unknown]") for f in frames])


def read_bpftrace(text, share):
    """@[comm, \\n    hit+17\\n    0x401234\\n]: 17"""
    for comm, frames, count in re.findall(r"^@\[(.+), ?\n((?: .*\n|\n)*)\]: (\d+)$", text, re.M):
        words = frames.split()
        share.add(comm, int(count), [not word.startswith("0x") for word in words])


def read_script(text, share):
    """comm\\n\\t  401234 hit+0x11 (/path)\\n"""
    for sample in text.split("\n\n"):
        comm, *frames = sample.strip("\n").split("\n")
        share.add(comm.strip(), 1, [f.split()[1] != "[unknown]" for f in frames if f.strip()])


def by_stackcount(setup, work, share):
    out = setup.tmp / "named.txt"
    with Traced([str(setup.stackcount), "-f", "-P", "-U", GETPPID], out) as tracer:
        work()
        seconds, peak = tracer.stop()
    read_folded(out.read_text(errors="replace"), share)
    return seconds, peak


def by_bpftrace(setup, work, share):
    out = setup.tmp / "named.txt"
    argv = [shutil.which("bpftrace"), "-e", f"{GETPPID} {{ @[comm, ustack] = count() }}"]
    with Traced(argv, out) as tracer:
        work()
        seconds, peak = tracer.stop()
    read_bpftrace(out.read_text(errors="replace"), share)
    return seconds, peak


def by_perf(setup, work, share):
    """Time perf report; count the frames in the output of perf script."""
    out, perf, data = setup.tmp / "named.txt", shutil.which("perf"), str(setup.tmp / "perf.data")
    argv = [perf, "record", "-q", "-a", "-g", "--user-callchains", "-o", data,
            "-e", GETPPID.removeprefix("t:")]
    with Traced(argv, out) as tracer:
        work()
        seconds, peak = tracer.stop()
    reported, peak_of_report = run_to_end([perf, "report", "--stdio", "-i", data], out)
    run_to_end([perf, "script", "-F", "comm,ip,sym", "-i", data], out)
    read_script(out.read_text(errors="replace"), share)
    return seconds + reported, max(peak, peak_of_report)


def peers():
    yield "stackcount", by_stackcount
    if shutil.which("perf"):
        yield "perf record -g, report", by_perf
    if shutil.which("bpftrace"):
        yield "bpftrace", by_bpftrace


@contextlib.contextmanager
def long_running(setup):
    """A process with stacks of 18 levels, which lives on."""
    with Process(setup.build / "workload/ladder", "--wait", 18, N_DISTINCT, N_EACH) as process:
        def work():
            process.go()
            while not process.has_said(1):
                pass
            time.sleep(0.2)
        yield work


@contextlib.contextmanager
def short_lived(*argv):
    def work():
        for _ in range(N_SHORT):
            subprocess.run([str(a) for a in argv], stdin=DEVNULL, stdout=DEVNULL, check=True)
    yield work


def add_named(setup, table, title, comm, make_work):
    table.title(f"Named: {title}")
    jobs = list(peers())
    got = {name: [] for name, _ in jobs}
    for r in range(setup.rounds):
        setup.progress(f"named, {comm}: round {r + 1} of {setup.rounds}")
        for name, by in in_turn(jobs, r):
            share = Share(comm)
            with make_work() as work:
                run = attempt(setup, name, lambda: by(setup, work, share))
            if run:
                got[name].append((*run, share.events, share.frames, share.named))
    for name, _ in jobs:
        add_peer(table, name, got[name])


def add_peer(table, name, runs):
    if not runs:
        table.add(name, "-")
        return
    seconds, peak, n_events, n_frames, n_named = (middle(column) for column in zip(*runs))
    share = 100 * n_named / n_frames if n_frames else 0
    table.add(f"{name}: user frames named", f"{share:.1f} % of {n_frames:.0f} ({n_events:.0f} events)")
    table.add(f"{name}: Ctrl-C to the report's end", shown(seconds, "s", 2))
    table.add(f"{name}: RSS, peak", shown(peak, "MiB", 1))


def named(setup, table):
    add_named(setup, table, f"{N_DISTINCT * N_EACH} events of a process that lives on", "ladder",
              lambda: long_running(setup))
    lives = setup.build / "workload/lives-one"
    add_named(setup, table, f"{N_SHORT_EACH} events each of {N_SHORT} short-lived processes",
              "lives-one", lambda: short_lived(lives, "--quiet", N_SHORT_EACH))
    shell = setup.tmp / "bench-sh"
    shutil.copy("/bin/sh", shell)
    add_named(setup, table, f"one event each of {N_SHORT} times sh -c true", "bench-sh",
              lambda: short_lived(shell, "-c", "true"))
