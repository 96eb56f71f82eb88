# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Times to start and to end, memory, many user functions, size of the program."""

import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

from events import attempt
from table import middle, ratios, shown
from tracer import DEVNULL, HEADER, Failed, Tracer, counts, spawn

MIB = 1 << 20
GETPPID = "t:syscalls:sys_enter_getppid"


class Process:
    """A process that prints a line when it is ready, and lives until its input ends."""

    def __init__(self, *argv, env=None):
        stdin, self.stdin = os.pipe2(os.O_CLOEXEC)
        stdout, write = os.pipe2(os.O_CLOEXEC)
        self.pid = spawn([str(a) for a in argv], stdin, write, env=env)
        os.close(stdin)
        os.close(write)
        self.stdout = stdout

    def __enter__(self):
        self.said = os.read(self.stdout, 100).decode()
        return self

    def go(self):
        os.write(self.stdin, b"\n")

    def has_said(self, seconds):
        """Does it print something within this time?"""
        return bool(select.select([self.stdout], [], [], seconds)[0])

    def __exit__(self, *_):
        os.close(self.stdin)
        os.waitpid(self.pid, 0)
        os.close(self.stdout)


def live_then_stop(argv, marker=HEADER):
    """(seconds to live, peak RSS in MiB by then)"""
    with Tracer([str(a) for a in argv], marker) as tracer:
        rss = tracer.status("VmHWM") / 1024
        tracer.stop()
        return tracer.live_s, rss


def live_by_command(setup, argv):
    """(seconds until the tracer's command runs, None)"""
    begin = time.monotonic_ns()
    done = subprocess.run([*argv, str(setup.bench / "load"), "now"] if argv[-1] != "-c"
                          else [*argv, f"{setup.bench / 'load'} now"],
                          stdin=DEVNULL, capture_output=True, text=True)
    found = re.search(r"^(\d{9,})$", done.stdout, re.M)
    if not found:
        raise Failed((done.stderr.strip().splitlines() or ["no words"])[-1])
    return (int(found[1]) - begin) / 1e9, None


PERF = "perf record -g -a, to its command"


def start_jobs(setup, pid):
    """(name, callable); ours come first"""
    s = setup
    category, name = "syscalls", "sys_enter_getppid"
    yield "stackcount t:syscalls:...getppid", lambda: live_then_stop([s.stackcount, GETPPID])
    yield "stackcount -p PID c:malloc", lambda: live_then_stop([s.stackcount, "-p", pid, "c:malloc"])
    yield ("libbpf program, no CO-RE (floor both)",
           lambda: live_then_stop([s.bench / "floor", "both", category, name], rb"^live"))
    perf, bpftrace = shutil.which("perf"), shutil.which("bpftrace")
    if perf:
        argv = [perf, "record", "-q", "-g", "-a", "-o", s.tmp / "perf.data", "-e", f"{category}:{name}", "--"]
        yield PERF, lambda: live_by_command(s, argv)
    if bpftrace:
        program = f"{GETPPID} {{ @[kstack,ustack] = count() }}"
        yield "bpftrace both, to its command", lambda: live_by_command(s, [bpftrace, "-e", program, "-c"])
    bcc = shutil.which("stackcount-bpfcc")
    if bcc:
        yield "bcc stackcount", lambda: live_then_stop(["/usr/bin/env", "PYTHONUNBUFFERED=1", bcc, GETPPID])


def rss_after_report(setup):
    """Peak RSS in MiB once a report with kernel names has been printed."""
    argv = [str(setup.stackcount), "-i", "0.2", GETPPID]
    with Tracer(argv) as tracer:
        subprocess.run([setup.bench / "load", "getppid", "1000"], stdout=DEVNULL, check=True)
        tracer.wait_for(rb"\n    \d+\n")
        time.sleep(0.1)
        rss = tracer.status("VmHWM") / 1024
        tracer.stop()
    return rss


def start(setup, table):
    table.title("Start: exec to live, peak RSS")
    with Process(setup.bench / "load", "sleep") as sleeper:
        jobs = list(start_jobs(setup, sleeper.pid))
        got = {name: [] for name, _ in jobs}
        for r in range(3 * setup.rounds):
            setup.progress(f"start: round {r + 1} of {3 * setup.rounds}")
            for name, job in jobs:
                time.sleep(0.3)  # or each waits for RCU, behind what the one before has taken away
                got[name].append(attempt(setup, name, job) or (None, None))
    perf = [seconds for seconds, _ in got.get(PERF, [])]
    for name, _ in jobs:
        live = [seconds for seconds, _ in got[name]]
        best = [s * 1000 for s in live if s is not None]
        figure = shown(middle(best), "ms", 1) + (f" (best {min(best):.1f})" if best else "")
        ratio = ratios(live, perf) if perf and name.startswith("stackcount") else None
        table.add(name, figure, ratio, "perf record", ("ratio", 1, ratio) if ratio else None)
    for name in [n for n, _ in jobs][:3]:
        rss = middle([rss for _, rss in got[name]])
        goal = ("value", 12, rss) if name.startswith("stackcount") else None
        table.add(f"RSS when live: {name}", shown(rss, "MiB", 1), None, "", goal)
    rss = middle([attempt(setup, "RSS", lambda: rss_after_report(setup)) for _ in range(setup.rounds)])
    table.add("RSS after a report with kallsyms", shown(rss, "MiB", 1), None, "", ("value", 40, rss))


def idle_wakeups(setup):
    """Wake-ups per second while nothing happens."""
    with Tracer([str(setup.stackcount), GETPPID]) as tracer:
        time.sleep(0.3)
        before = tracer.status("voluntary_ctxt_switches")
        time.sleep(3)
        wakeups = (tracer.status("voluntary_ctxt_switches") - before) / 3
        tracer.stop()
    return wakeups


def distinct_run(setup, n):
    """@n distinct stacks: seconds to end, stacks and hits printed, peak memory in MiB."""
    out = setup.tmp / "distinct.txt"
    with Process(setup.build / "workload/ladder", "--wait", 18, n, 1) as work:
        with Tracer([str(setup.stackcount), "-p", str(work.pid), GETPPID], out=str(out)) as tracer:
            work.go()
            maps = 0
            while not work.has_said(0.02):
                maps = max(maps, tracer.map_bytes())
            time.sleep(0.2)
            maps = max(maps, tracer.map_bytes())
            rss = [0]
            taken = tracer.stop(timeout=120, watch=lambda: rss.append(tracer.status("VmHWM")))
    found = counts(out.read_bytes())
    return taken, len(found), sum(found), maps / MIB, max(rss) / 1024


def end(setup, table):
    n = 200000
    table.title(f"End: {n} distinct stacks, kernel and user, to a file")
    runs = []
    for r in range(setup.rounds):
        setup.progress(f"end: round {r + 1} of {setup.rounds}")
        run = attempt(setup, "distinct", lambda: distinct_run(setup, n))
        if run:
            runs.append(run)
    taken, stacks, hits, maps, rss = (middle(column) for column in zip(*runs)) if runs else [None] * 5
    table.add("Ctrl-C to exit", shown(taken, "s", 2), None, "", ("value", 3, taken))
    table.add("stacks printed, hits printed", f"{stacks}, {hits} of {n}")
    table.add("kernel memory of the maps, peak seen", shown(maps, "MiB", 1))
    table.add("RSS, peak", shown(rss, "MiB", 1))
    if maps is not None:
        table.add("both peaks together", shown(maps + rss, "MiB", 1), None, "", ("value", 256, maps + rss))
    idle = idle_wakeups(setup)
    table.add("idle wake-ups", shown(idle, "/s", 1), None, "", ("value", 10, idle))


def budget(setup, table):
    """The memory of counts on machines with many CPUs. The program's own division and sizes of
    elements give the figures; nothing measures the kernel's memory here."""
    table.title("Memory of the counts by number of CPUs (computed by the program; budget 256 MiB)")
    for cpus in (2, 128, 512):
        text = subprocess.run([setup.bench / "budget", str(cpus), str(256 * MIB)],
                              capture_output=True, text=True, check=True).stdout
        rows, chunks, user = map(int, text.split())
        kernel = (256 * MIB - user) / MIB
        table.add(f"{cpus} CPUs: stacks per generation, of two", f"{rows} rows, {chunks} pieces")
        table.add(f"{cpus} CPUs: kernel, both generations full", shown(kernel, "MiB", 1), None, "",
                  ("value", 256, kernel))
        whole = 100000 * kernel / (2 * rows)
        table.add(f"{cpus} CPUs: 100,000 stacks in one map would be", shown(whole, "MiB", 1))


def left_over():
    """Our children, among them those that we inherit from a tracer that has ended."""
    return [int(n) for n in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def live_and_end(setup, argv):
    """(seconds to live, to the exit, to the end of its last child; functions traced)"""
    ours = set(left_over())
    with Tracer([str(a) for a in argv], timeout=120) as tracer:
        begin = time.monotonic()
        taken = tracer.stop(timeout=60)
        if taken is None:
            setup.note(f"{' '.join(map(str, argv))}: not ended after 60 s")
        while behind := set(left_over()) - ours - {tracer.pid}:
            for pid in behind:
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.01)
        return tracer.live_s, taken, max(taken or 0, time.monotonic() - begin), int(tracer.found[1])


def copy_libc(setup):
    """A libc of our own: tracing it everywhere disturbs nobody else on the machine."""
    text = subprocess.run(["/usr/bin/ldd", setup.bench / "load"], capture_output=True, text=True).stdout
    to = setup.tmp / "libc.so.6"
    shutil.copy(re.search(r"libc\.so\.6 => (\S+)", text)[1], to)
    return to


def user_functions(setup, table):
    table.title("All functions of libc")
    copy = copy_libc(setup)
    env = {**os.environ, "LD_LIBRARY_PATH": str(setup.tmp)}
    with Process(setup.bench / "load", "sleep", env=env) as sleeper:
        one = ["-p", sleeper.pid, f"{copy}:*"]
        jobs = [
            ("-p PID c:*, uprobe.multi", [setup.stackcount, *one]),
            ("-p PID c:*, perf events", [setup.stackcount, "--without", "uprobe.multi", *one]),
            ("c:* of all processes, uprobe.multi", [setup.stackcount, f"{copy}:*"]),
        ]
        got = {name: [] for name, _ in jobs}
        for r in range(setup.rounds):
            setup.progress(f"libc: round {r + 1} of {setup.rounds}")
            for name, argv in jobs:
                # Run a job once if its probes take minutes to be gone.
                if any(run[2] is None or run[2] > 20 for run in got[name]):
                    continue
                run = attempt(setup, name, lambda: live_and_end(setup, argv))
                got[name].append(run or (None, None, None, None))
    for name, _ in jobs:
        live, ended, gone, n = (middle(column) for column in zip(*got[name]))
        quick = "multi" in name  # the kernel takes minutes for so many perf events
        table.add(f"{name}: live", f"{shown(live, 's', 2)} ({n} functions)", None, "", ("value", 1, live) if quick else None)
        table.add(f"{name}: exit", shown(ended, "s", 2), None, "", ("value", 1, ended))
        table.add(f"{name}: last probe gone", shown(gone, "s", 2), None, "", ("value", 1, gone) if quick else None)


def size(setup, table):
    table.title("Size")
    stripped = setup.tmp / "stripped"
    subprocess.run(["strip", "-o", stripped, setup.stackcount], check=True)
    mib = stripped.stat().st_size / MIB
    table.add("stripped binary", shown(mib, "MiB", 2), None, "", ("value", 1, mib))
