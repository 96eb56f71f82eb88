#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench/deferred.py [ROUNDS] - ns of a BPF program at a hit that is deferred, and at one that is cut.

No table is made meanwhile (the helper for it waits). A program that is new makes 1,000 hits, which all fit
into the ring. Others then fill the ring, and the hits of the last one are cut. The kernel's own clock takes
some 50 ns of each (kernel.bpf_stats_enabled). 'make bench' runs this as a program of its own, because it
takes modules of tests/e2e. Run it as root, on a quiet machine.
"""

import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "e2e"))

from test_deferred import DWARF, PRIORITY, Strangers, deferred  # noqa: E402
from tool import Tool  # noqa: E402
from waiting import go_on, wait_until_it_waits, waiting  # noqa: E402

SWITCH = Path("/proc/sys/kernel/bpf_stats_enabled")
TRACEPOINT = "prog_type:\t5"
MOST_NS = 3000


def run_time(pid):
    """(ns, runs) of the tool's programs at tracepoints."""
    ns = runs = 0
    for link in Path(f"/proc/{pid}/fdinfo").iterdir():
        text = link.read_text()
        if TRACEPOINT in text:
            ns += int(re.search(r"run_time_ns:\s*(\d+)", text)[1])
            runs += int(re.search(r"run_cnt:\s*(\d+)", text)[1])
    return ns, runs


def per_hit(tool, stranger, n):
    before = run_time(tool.pid)
    stranger.run("priority", n, 0)
    after = run_time(tool.pid)
    return (after[0] - before[0]) / (after[1] - before[1])


def one_round():
    """(ns of a deferred hit, ns of one that is cut); None if the machine was too slow for one of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = [Strangers(folder / str(i), 1) for i in range(3)]
        with Tool(["--debug", *DWARF, "-f", PRIORITY], env=waiting(folder, "parser")) as tool:
            tool.wait_for_header()
            wait_until_it_waits(folder)
            time.sleep(0.5)
            late = per_hit(tool, programs[0], 1000)
            per_hit(tool, programs[1], 4000)
            cut = per_hit(tool, programs[2], 4000)
            go_on(folder)
            walked, _, given_up, full = deferred(tool.end().ok())
    return (late, cut) if walked + given_up >= 1000 and full >= 4000 else None


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    was = SWITCH.read_text()
    SWITCH.write_text("1")
    try:
        found = [pair for pair in (one_round() for _ in range(rounds)) if pair]
    finally:
        SWITCH.write_text(was)
    late, cut = (statistics.median(ns) for ns in zip(*found))
    print(f"deferred {late:.0f} ns, cut {cut:.0f} ns, medians of {len(found)} rounds; limit {MOST_NS} ns")
    sys.exit(late > MOST_NS)


if __name__ == "__main__":
    main()
