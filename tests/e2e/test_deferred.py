# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hits whose stack no table covers yet are walked later: whole, counted once, where they belong."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from tool import PATIENCE_S, Live, Unaccounted, build, read_folded, stackcount, user_chain, workload_path

pytestmark = pytest.mark.needs("unwinding")
DWARF = ("--unwind", "dwarf")
PRIORITY = "t:syscalls:sys_enter_getpriority"  # which few programs call
NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # of a build ID of 20 bytes, which follows


NAME = f"c{os.getpid() % 100_000}x"


class Strangers:
    """Copies of a workload that no tool has seen, and nobody else runs: each has a build ID of its own."""

    def __init__(self, folder, n, workload="syscalls-nofp"):
        data = Path(workload_path(workload)).read_bytes()
        at = data.index(NOTE) + len(NOTE)
        folder.mkdir(exist_ok=True)
        self.paths = [folder / f"{NAME}{i}" for i in range(n)]
        for path in self.paths:
            path.write_bytes(data[:at] + os.urandom(20) + data[at + 20 :])
            path.chmod(0o755)

    def run(self, *args, every_s=0.0):
        """One after the other, so many seconds apart."""
        for path in self.paths:
            begin = time.monotonic()
            subprocess.run([path, *map(str, args)], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
            time.sleep(max(0, begin + every_s - time.monotonic()))

    def stacks(self, result):
        """[(parts, count)] of theirs, of folded output with -P."""
        ours = re.compile(rf"{NAME}\d+(-\d+)?")
        return [(parts, count) for parts, count in read_folded(result.out) if ours.fullmatch(parts[0])]


def cuts(stacks):
    return sum(count for parts, count in stacks if any(part.startswith("[cut") for part in parts))


def total(stacks):
    return sum(count for _, count in stacks)


def deferred(result):
    """(walked, whole, given up, found the ring full)"""
    return tuple(map(int, re.search(r"deferred hits: (\d+) \D+ (\d+) \D+ (\d+) \D+ (\d+) found", result.err).groups()))


def check_hits(result, stacks, made):
    """Each hit of the strangers is printed as theirs, or told as lost, or there was no room for who they are."""
    missing = made - total(stacks)
    if missing < 0 or (missing > result.lost and not result.lost_records):
        raise Unaccounted(f"{made} made, {total(stacks)} printed, {result.lost} lost: {result!r}")


def check_walked(result, stacks):
    """Hits are cut where a busy machine did not get to walk them later, and told of, and there are others."""
    _, _, given_up, full = deferred(result)
    assert cuts(stacks) <= given_up + full, result
    assert not stacks or cuts(stacks) < total(stacks), result


# 100 hits in 10 ms are 10,000 in a second; 16 programs in a second are a thousand in a minute.
@pytest.mark.thorough
@pytest.mark.parametrize("event", [PRIORITY, "t:sched:sched_switch"])
def test_programs_that_nobody_has_seen(tmp_path, event):
    strangers = Strangers(tmp_path, 32)
    n = 100 if event == PRIORITY else 1000  # ten sleeps
    with Live(["--debug", *DWARF, "-d", "-P", "-f", event]) as tool:
        strangers.run("priority", n, 0, 0.01, every_s=1 / 16)
        tool.drain()
        result = tool.end().ok()
    stacks = strangers.stacks(result)
    check_walked(result, stacks)
    if event == PRIORITY:
        check_hits(result, stacks, 32 * 100)
        whole = sum(n for parts, n in stacks if user_chain(parts).endswith(";hit"))
        assert whole == total(stacks) - cuts(stacks), result


def test_each_hit_is_counted_once_whatever_becomes_of_it(tmp_path):
    """So fast that the ring is full at times."""
    strangers = Strangers(tmp_path, 10)
    with Live(["--debug", *DWARF, "-d", "-P", "-f", PRIORITY]) as tool:
        strangers.run("priority", 20_000, 0)
        result = tool.end().ok()
    stacks = strangers.stacks(result)
    check_hits(result, stacks, 10 * 20_000)
    walked, _, _, full = deferred(result)
    crowded = sum(count for parts, count in stacks if "[cut: too many waited]" in parts)
    assert walked > 0 and crowded <= full, result


RELOADING = """
#include <dlfcn.h>
int main(void) { for (int i = 0; i < 5000; i++) dlclose(dlopen("libm.so.6", RTLD_NOW)); }
"""


def test_a_process_with_more_new_mappings_than_its_share(tmp_path):
    """Its hits are cut for their number, and their mark says it."""
    program = build(tmp_path / "reloading", RELOADING)
    result = stackcount("--debug", *DWARF, "-d", "-f", "e:page-faults", "--", program).ok()
    marks = {"no table yet": 0, "too many waited": 0}
    for parts, count in read_folded(result.out):
        for mark in marks:
            marks[mark] += count * (f"[cut: {mark}]" in parts)
    walked, _, given_up, full = deferred(result)
    assert walked > 0 and marks["no table yet"] <= given_up and marks["too many waited"] <= full, result


GETPPID = "t:syscalls:sys_enter_getppid"


def test_without_memory_hits_are_losses(tmp_path):
    strangers = Strangers(tmp_path, 8, "ladder")
    with Live([*DWARF, "-d", "-P", "-f", "--max-memory", "1M", GETPPID]) as tool:
        strangers.run(18, 5000, 1)
        result = tool.end().ok()
    assert result.lost > 0, result
    check_hits(result, strangers.stacks(result), 8 * 5000)


def maps_of(tool):
    """The contents of BPF maps of 4 MiB in the tool's memory that no core dump has: slabs of tables, and the ring."""
    text = Path(f"/proc/{tool.pid}/smaps").read_text()
    found = []
    for area in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", text, flags=re.M):
        begin, end = (int(x, 16) for x in re.match(r"([0-9a-f]+)-([0-9a-f]+) ", area).groups()) if area else (0, 0)
        if end - begin == 4 << 20 and "bpf" in area.splitlines()[0] and " dd " in area:
            with open(f"/proc/{tool.pid}/mem", "rb") as memory:
                memory.seek(begin)
                found.append(memory.read(end - begin))
    return found


def test_the_ring_keeps_no_bytes(tmp_path):
    """Of a process's stack, in no core dump, and not longer than needed."""
    strangers = Strangers(tmp_path, 5)
    with Live([*DWARF, "--debug", "-f", PRIORITY]) as tool:
        strangers.run("priority", 100, 0)
        for _ in range(2):  # hits are walked, then their places cleared
            tool.drain()
        assert [any(contents) for contents in maps_of(tool)].count(False) == 1
        assert deferred(tool.end().ok())[0] > 0
