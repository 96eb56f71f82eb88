# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of walking by unwind tables: per event, start, memory. For comparison, perf's copies of the stack."""

import contextlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from events import GETPPID, Loads, attempt, held, in_turn
from lifetime import Process, live_then_stop
from table import middle, ratios, shown
from tracer import DEVNULL, Failed, Tracer, descriptors, field

TARGET = f"t:{GETPPID[0]}:{GETPPID[1]}"
AUTO = ("--unwind", "auto")
LOOKED_UP = ("--without", "rules.recent")
OWN = 5  # frames of load itself, in addition to MORE
LIBRARIES = 50
PROCESSES, FILES, FILES_EACH = 300, 200, 4
SAMPLES = 20000


class Deep(Loads):
    """load with more frames."""

    def __init__(self, setup, kind, n_events, more, program):
        super().__init__(setup, kind, n_events, program)
        self.more = more

    def argv(self, cpu):
        return [*super().argv(cpu), str(self.more)]


def walked(setup, table, what, program, kind, more=0):
    """Walk code without frame pointers by tables. Compare with the kernel's walk of code with frame pointers."""
    nofp = f"{program}-nofp"
    jobs = [
        ("floor user", program, [setup.bench / "floor", "user", *GETPPID]),
        ("stackcount -U --unwind fp", program, [setup.stackcount, "--unwind", "fp", "-U", TARGET]),
        ("stackcount -U", program, [setup.stackcount, *AUTO, "-U", TARGET]),
        ("the same, without frame pointers", nofp, [setup.stackcount, *AUTO, "-U", TARGET]),
        ("... no rule kept as recent", nofp, [setup.stackcount, *AUTO, *LOOKED_UP, "-U", TARGET]),
    ]
    costs = {name: [] for name, _, _ in jobs}
    for r in range(setup.rounds):
        setup.progress(f"{what}: round {r + 1} of {setup.rounds}")
        for name, load, argv in in_turn(jobs, r):
            loads = Deep(setup, kind, setup.events, more, load)
            before = loads.run([1])
            figure = attempt(setup, name, lambda: held(loads, name, argv, [1]))
            costs[name].append(None if figure is None else figure - (before + loads.run([1])) / 2)
    for name, _, _ in jobs:
        ratio = ratios(costs[name], costs["floor user"])
        goal = ("ratio", 1.0, ratio) if name.endswith("without frame pointers") else None
        table.add(f"{what}: {name}", shown(middle(costs[name]), "ns"), ratio, "floor user", goal)


def walking(setup, table):
    table.title("A user stack walked by unwind tables, t:syscalls:sys_enter_getppid")
    for frames in (8, 30):
        walked(setup, table, f"{frames} frames", "load", "getppid", frames - OWN)
    walked(setup, table, "8 of 10,000", "load-paths", "paths")


def libraries(n):
    """@n libraries of ordinary size that every machine has, each once."""
    found = {}
    for path in sorted(Path("/usr/lib/x86_64-linux-gnu").glob("*.so*")):
        if path.is_file() and 20_000 < path.stat().st_size < 4_000_000 and "san" not in path.name:
            found.setdefault(os.path.realpath(path), path)
    return list(found)[:n]


def start(setup, table):
    with Process(setup.bench / "libs", *libraries(2 * LIBRARIES)[:LIBRARIES]) as work:
        n = int(work.said.split()[1])
        live = [attempt(setup, "start", lambda: live_then_stop([setup.stackcount, *AUTO, "-p", work.pid, TARGET]))
                for _ in range(setup.rounds)]
    ms = middle([seconds * 1000 for seconds, _ in live])
    table.add(f"-p of a process with {n} libraries: exec to live, tables made", shown(ms, "ms", 1), None, "",
              ("value", 150, ms))


def scanned(pid):
    """Has the tool read all processes, and does its thread rest?"""
    links = descriptors(pid)
    names = {path.parent: path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm")}
    (thread,) = [path for path, name in names.items() if name == "unwind tables\n"]
    return "/proc" not in links and " S " in (thread / "stat").read_text()


def whole_machine(setup, table):
    files = libraries(FILES)
    with contextlib.ExitStack() as all_of_them:
        for i in range(PROCESSES):
            mine = [files[(i * FILES_EACH + k) % len(files)] for k in range(FILES_EACH)]
            all_of_them.enter_context(Process(setup.bench / "libs", *mine))
        with Tracer([str(setup.stackcount), *AUTO, "--debug", TARGET]) as tracer:
            begin = time.monotonic()
            while not scanned(tracer.pid):
                time.sleep(0.005)
            seconds = time.monotonic() - begin
            rss = field(tracer.pid, "status", r"^VmRSS:\s*(\d+)") / 1024
            anonymous = field(tracer.pid, "status", r"^RssAnon:\s*(\d+)") / 1024
            tracer.stop()
    said = re.search(rb"unwind tables: (\d+) images, (\d+) rows, (\d+) of (\d+) bytes", tracer.text)
    cut = sum(int(n) for n in re.findall(rb"\[cut: [^\n]*\n    (\d+)$", tracer.text, re.M))
    hits = sum(int(n) for n in re.findall(rb"^    (\d+)$", tracer.text, re.M))
    images, rows, used, kept = map(int, said.groups())
    what = f"{PROCESSES} processes, {images} images, {rows} rows"
    table.add(f"{what}: all looked at, after it is live", shown(seconds, "s", 2), None, "", ("value", 1, seconds))
    table.add("kernel memory for tables: used, held", f"{used / (1 << 20):.1f}, {kept / (1 << 20):.0f} MiB")
    table.add("RSS (tables in it, mapped), anonymous", f"{rss:.1f}, {anonymous:.1f} MiB")
    table.add("hits before their table was there", f"{cut} of {hits}")


def is_whole(frames):
    return bool(frames) and frames[-1].split()[1].split("+")[0] in ("_start", "__libc_start_main", "__libc_start_call_main")


def by_perf(setup, table, n_bytes):
    perf, data = shutil.which("perf"), setup.tmp / "perf.data"
    load = [setup.bench / "load-nofp", "getppid", SAMPLES, 1, 3]
    argv = [perf, "record", "-q", "--call-graph", f"dwarf,{n_bytes}", "-m", "4096", "-o", data,
            "-e", ":".join(GETPPID), "--", *load]
    done = subprocess.run([str(a) for a in argv], stdin=DEVNULL, capture_output=True, text=True)
    found = re.search(r"^ns (\S+)", done.stdout, re.M)
    if not found:
        raise Failed((done.stderr.strip().splitlines() or ["no words"])[-1])
    bare = float(subprocess.run([str(a) for a in load], capture_output=True, text=True).stdout.split()[1])
    script = subprocess.run([perf, "script", "-i", data, "-F", "ip,sym"], capture_output=True, text=True)
    stacks = [sample.splitlines() for sample in script.stdout.split("\n\n") if sample.strip()]
    n = SAMPLES + SAMPLES // 10
    whole = sum(map(is_whole, stacks))
    table.add(f"perf record --call-graph dwarf,{n_bytes}", shown(float(found[1]) - bare, "ns"))
    table.add(f"... whole stacks, of {n} events", f"{whole} ({100 * whole / n:.0f} %)")
    table.add("... bytes written for each", shown(data.stat().st_size / n, "").strip())
    data.unlink()


def unwinding(setup, table):
    table.title("Unwind tables of processes, t:syscalls:sys_enter_getppid")
    start(setup, table)
    whole_machine(setup, table)
    if shutil.which("perf"):
        for n_bytes in (8192, 65528):
            attempt(setup, "perf record", lambda n=n_bytes: by_perf(setup, table, n))


def deferred(setup, table):
    table.title("A hit of a program that is new, by the kernel's own clock")
    setup.progress(f"deferred: {setup.rounds} rounds")
    argv = ["/usr/bin/python3", setup.top / "bench" / "deferred.py", str(setup.rounds)]
    done = subprocess.run(argv, stdin=DEVNULL, capture_output=True, text=True)
    found = re.search(r"deferred (\d+) ns, cut (\d+) ns, medians of \d+ rounds; limit (\d+) ns", done.stdout)
    if not found:
        setup.note(f"deferred: {(done.stderr.strip().splitlines() or ['no words'])[-1]}")
        return
    late, cut, most = map(int, found.groups())
    table.add("deferred", shown(late, "ns"), goal=("value", most, late))
    table.add("cut, because the ring is full", shown(cut, "ns"))
