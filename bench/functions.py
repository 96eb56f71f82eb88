# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of many kernel functions, in a guest with kprobe.multi, compared with a bare program with one link."""

import json
import shutil
import sys
import tempfile
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path

from events import attempt
from table import middle, ratios, shown
from tracer import HEADER, Failed, Tracer

KERNEL = "6.12"
PATTERNS = ("ext4_*", "*")
MOST = 1.3
LIVE = rb"live: (\d+) functions"

NAMES = ("bare", "bare, names", "bare, stacks", "stackcount -U", "stackcount")
LABELS = {
    "bare": "bare program, one link",
    "bare, stacks": "the same, taking kernel stacks",
    "bare, names": "the same, given a list of names",
}


def names_of(pattern, to):
    """Write the traceable functions that match @pattern, each once."""
    lines = Path("/sys/kernel/tracing/available_filter_functions").read_text().splitlines()
    names = {line.split()[0] for line in lines}
    names = sorted(n for n in names if fnmatchcase(n, pattern) and not n.startswith("__ftrace_inv"))
    to.write_text("".join(f"{n}\n" for n in names))


def live_and_end(argv, marker):
    with Tracer([str(a) for a in argv], marker, timeout=300) as tracer:
        n = int(tracer.found[1])
        ended = tracer.stop(timeout=300)
        return {"live": tracer.live_s, "end": ended, "n": n}


def jobs_inside(setup, pattern):
    """[(name, argv, marker)] in turns. With all kernel functions, jobs that take stacks come last and
    once: each function that takes the stack is hit, too, which may take longer than a clock tick."""
    names = setup.tmp / "names"
    names_of(pattern, names)
    multi = setup.bench / "multi"
    jobs = [
        ("bare", [multi, "functions", pattern], LIVE),
        ("bare, names", [multi, "functions", names], LIVE),
        ("stackcount -U", [setup.stackcount, "-U", pattern], HEADER),
    ]
    whole = ("stackcount", [setup.stackcount, pattern], HEADER)
    stacks = ("bare, stacks", [multi, "function_stacks", pattern], LIVE)
    if pattern == "*":
        return jobs * 3 + [whole, stacks]
    return (jobs + [whole, stacks]) * 3


def inside(setup):
    """In the guest: print a line of JSON for each run."""
    for pattern in PATTERNS:
        for name, argv, marker in jobs_inside(setup, pattern):
            try:
                run = live_and_end(argv, marker)
            except Failed as why:
                run = {"live": None, "end": None, "n": None, "why": str(why)}
            print(json.dumps({"pattern": pattern, "name": name, **run}), flush=True)


def stage(setup, to):
    """Copy the files that the guest needs below @to."""
    shutil.copytree(Path(__file__).parent, to / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    (to / "build").mkdir()
    shutil.copytree(setup.bench, to / "build/bench")
    shutil.copy(setup.stackcount, to / "build/stackcount")


def run_guest(setup):
    sys.path.insert(0, str(setup.top / "tests/vm"))
    from cache import cache_dir
    from fetch import fetch
    from guest import Guest, check_host

    check_host(KERNEL)
    for name in (KERNEL, "root"):
        fetch(name)
    runs = []

    def sink(line):
        setup.progress(f"guest: {line.strip()}")
        if line.startswith("{"):
            runs.append(json.loads(line))

    with tempfile.TemporaryDirectory(prefix="stage.", dir=cache_dir()) as folder:
        stage(setup, Path(folder))
        # One CPU: emulated ones wait for each other while functions are patched.
        with Guest(KERNEL, folder, n_cpus=1) as guest:
            status = guest.run("BUILD=/tests/build python3 bench/run.py --inside", 480, sink)
    if status != 0:
        setup.note("guest: not all done in time" if status is None else f"guest: exit status {status}")
    return runs


def kernel_functions(setup, table):
    table.title(f"Many kernel functions (guest, Linux {KERNEL}, emulated: ratios only)")
    runs = attempt(setup, "guest", lambda: run_guest(setup)) or []
    for pattern in PATTERNS:
        by = {}
        for run in runs:
            if run["pattern"] == pattern:
                by.setdefault(run["name"], []).append(run)
                if run.get("why"):
                    setup.note(f"guest: {run['name']} '{pattern}': {run['why']}")
        for what in ("live", "end"):
            floors = [run[what] for run in by.get("bare", [])]
            for name in NAMES:
                mine = by.get(name)
                if not mine:
                    table.add(f"'{pattern}' {LABELS.get(name, name)}: {what}", "not within minutes",
                              None, "", ("ratio", MOST, inf) if name == "stackcount" else None)
                    continue
                ratio = None if name == "bare" else ratios([run[what] for run in mine], floors)
                n = mine[0]["n"]
                goal = ("ratio", MOST, ratio) if name == "stackcount" else None
                table.add(f"'{pattern}' {LABELS.get(name, name)}: {what}",
                          f"{shown(middle([run[what] for run in mine]), 's', 2)} ({n or 0} functions)",
                          ratio, "bare", goal)
