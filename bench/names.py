# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many stacks over many files: time, memory, and the frames without a name."""

import os
import re
import shutil
import time
from pathlib import Path

from events import attempt
from lifetime import GETPPID, Process
from table import middle, shown
from tracer import Tracer, Watch, counts

N_STACKS = 200000
N_IMAGES = 50
FRAMES_OF_IMAGES = 16


def large_files():
    """node, then libraries by size, the largest first. A file with several paths comes once."""
    sizes = {}
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-*/lib", "/usr/lib/aarch64-linux-gnu"):
        for path in Path("/").glob(folder[1:] + "/*.so*"):
            if path.is_file():
                sizes[os.path.realpath(path)] = path.stat().st_size
    files = sorted(sizes, key=lambda file: (-sizes[file], file))
    node = shutil.which("node")
    return ([os.path.realpath(node)] if node else []) + files


def missing_files(files):
    return [package for package, name in (("libllvm14", "libLLVM"), ("nodejs", "/node"))
            if not any(name in file for file in files)]


def images_run(setup, kind, files):
    """One run: its time and memory, and the sums of its report."""
    out = setup.tmp / "images.txt"
    argv = [setup.bench / "images", kind, N_STACKS, N_IMAGES, *files]
    with Process(*argv) as work:
        n_images, n_functions = map(int, work.said.split()[1:3])
        with Tracer([str(setup.stackcount), "--unwind", "fp", "-p", str(work.pid), GETPPID], out=str(out)) as tracer:
            work.go()
            while not work.has_said(1):
                pass
            time.sleep(0.5)
            watch = Watch(tracer.pid)
            watch()
            before = watch.user + watch.system
            taken = tracer.stop(timeout=120, watch=watch)
    text = out.read_bytes()
    out.unlink()
    printed = counts(text)
    return {
        "images": n_images, "functions": n_functions, "taken": taken, "stacks": len(printed),
        "hits": sum(printed), "rss": watch.peak, "files": watch.files, "before": before,
        "user": watch.user, "system": watch.system, "bytes": len(text) / (1 << 20),
        "unnamed": len(re.findall(rb"^  \[unknown\]$", text, re.M)),
        "frames": FRAMES_OF_IMAGES * len(printed),
        "lost": sum(map(int, re.findall(rb"^Lost (\d+) hits", text, re.M))),
    }


def names(setup, table):
    table.title(f"Names: {N_STACKS} distinct stacks over {N_IMAGES} files, to a file")
    files = large_files()
    for package in missing_files(files):
        table.add(f"without {package}", f"- (install {package})")
    for kind in ("shared", "apart"):
        runs = []
        for r in range(max(1, setup.rounds // (1 if kind == "shared" else 3))):
            setup.progress(f"names {kind}: round {r + 1}")
            runs.append(attempt(setup, kind, lambda: images_run(setup, kind, files)))
        runs = [run for run in runs if run]
        if runs:
            add_images(table, kind, {key: middle([run[key] for run in runs]) for key in runs[0]})


def add_images(table, kind, run):
    ours = kind == "shared"
    what = "outer frames shared" if ours else "none shared"

    def goal(most, value):
        return ("value", most, value) if ours else None

    table.add(f"{what}: files, functions", f"{run['images']:.0f}, {run['functions']:.0f}")
    table.add(f"{what}: stacks, hits, told as lost",
              f"{run['stacks']:.0f}, {run['hits']:.0f}, {run['lost']:.0f} of {N_STACKS}", None, "",
              goal(0, N_STACKS - run["stacks"]))
    table.add(f"{what}: frames without a name", f"{run['unnamed']:.0f} of {run['frames']:.0f}",
              None, "", goal(0, run["unnamed"]))
    table.add(f"{what}: Ctrl-C to exit", shown(run["taken"], "s", 2), None, "", goal(4, run["taken"]))
    table.add(f"{what}: CPU time of that",
              f"{run['user'] + run['system'] - run['before']:.1f} s (of all: {run['user']:.1f} user + "
              f"{run['system']:.1f} system)")
    table.add(f"{what}: RSS, peak",
              f"{run['rss']:.0f} MiB (files' pages: {run['files']:.0f})", None, "", goal(150, run["rss"]))
    table.add(f"{what}: printed", shown(run["bytes"], "MiB"))
