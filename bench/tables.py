# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The memory of unwind tables of large files, and the time to make them."""

import glob
import shutil
import subprocess

from table import middle, shown

# (name, path, goal in ms for making its table)
FILES = [
    ("libc", "/usr/lib/*-linux-gnu/libc.so.6", 15),
    ("libcrypto", "/usr/lib/*-linux-gnu/libcrypto.so.3", None),
    ("node", "node", 250),
    ("cc1", "/usr/lib/gcc/*/*/cc1", None),
    ("libjvm", "/usr/lib/jvm/*/lib/server/libjvm.so", None),
    ("libLLVM", "/usr/lib/*-linux-gnu/libLLVM-*.so.1", 500),
]


def find(pattern):
    found = sorted(glob.glob(pattern)) if "/" in pattern else [shutil.which(pattern)]
    return found[-1] if found else None


def measure(setup, path):
    """(rows, entries, rules, bytes, unfit, ms), in a new process, whose memory is not mapped yet."""
    done = subprocess.run([setup.bench / "tables", path], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()[:6]]


def tables(setup, table):
    table.title("Unwind tables")
    for name, pattern, most_ms in FILES:
        path = find(pattern)
        if not path:
            table.add(f"{name}: not installed", "-")
            continue
        runs = [measure(setup, path) for _ in range(setup.rounds)]
        rows, entries, rules, size, unfit, _ = runs[0]
        ms = middle([run[5] for run in runs])
        table.add(f"{name}: {rows:.0f} rows", f"{entries:.0f} entries, {rules:.0f} rules")
        table.add(f"{name}: bytes a row, of {size / 1024:.0f} KiB", shown(size / rows, "", 2), None, "",
                  ("value", 8, size / rows))
        table.add(f"{name}: rows without a rule", f"{unfit:.0f}", None, "",
                  ("value", rows / 1000, unfit))
        table.add(f"{name}: made in", shown(ms, "ms", 1), None, "",
                  ("value", most_ms, ms) if most_ms else None)
