# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that run in an NMI, on top of others that it interrupts: at a tracepoint and in a uprobe."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from tool import GETPPID, Live, Unaccounted, ending, read_folded, user_chain, workload_path

pytestmark = pytest.mark.needs("guest", "newest kernel", "unwinding")

NMIS = 1000
GETPPIDS = 12000
CALLS = 4000


def n_nmis():
    """Since the guest's boot, of all CPUs."""
    found = re.search(r"^ *NMI:((?: +\d+)+)", Path("/proc/interrupts").read_text(), re.M)
    return sum(map(int, found[1].split()))


def ask_for_nmis(n):
    """tests/vm/guest.py reads this, and has the emulator inject them. The first CPU takes them."""
    with open(os.environ["GUEST_PORT"], "w") as port:
        port.write(f"\nguest-nmis {n}\n")


@pytest.mark.core
@pytest.mark.walk("dwarf")
def test_hits_in_nmis_and_below_them_are_exact(workload):
    """Linux 7.2 has one stack of a program for each CPU. A hit in an NMI wrote over that of the hit below: a crash. An NMI may
    cost the hit below, if that is told."""
    works = [
        workload("syscalls-nofp", "getppid", GETPPIDS, GETPPIDS, cpus=[0]),
        workload("calls-nofp", CALLS, 2 * CALLS, 0, cpus=[0]),
    ]
    expected = {}
    events = ["t:nmi:nmi_handler", GETPPID, f"{workload_path('calls-nofp')}:leaf"]
    with Live(["--self", "-d", "-f", *events]) as tool:
        before = n_nmis()
        ask_for_nmis(NMIS)
        for work in works:
            work.go()
        for work in works:
            expected.update(work.finish())
        least = n_nmis() - before  # later ones may come behind the tool's end
        result = tool.end().ok()
    most = n_nmis() - before
    in_nmis, on_programs, found = 0, 0, Counter()
    for parts, n in read_folded(result.out):
        if parts[-1].startswith("nmi_handle"):
            in_nmis += n
            on_programs += n if any(part.startswith("bpf_prog_") for part in parts) else 0
        elif user_chain(parts):
            found[user_chain(parts)] += n
    missing = Counter(ending(expected, "hit", "leaf"))
    missing.subtract(found)
    n_missing = missing.total()
    if min(missing.values()) < 0 or not least <= in_nmis + result.lost - n_missing <= most or n_missing > min(result.lost, most):
        raise Unaccounted(f"{missing} missing, {in_nmis} in NMIs, {result.lost} lost, {least} to {most} made: {result!r}")
    assert on_programs > 0, result
