# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whoever reads the output may stop for as long as it likes: what processes do is followed, and hits are counted."""

import fcntl
import re
import select
import shutil
import subprocess
from collections import Counter

import pytest
from snoop import folded_chains, snoop
from tool import GETPPID, PATIENCE_S, Live, Tool, chains, read_folded, scaled, user_chain, workload_path

pytestmark = pytest.mark.walk("fp")

ONE = workload_path("lives-one")
PROGRAMS = scaled(300, least=100)  # each with ten more: several times what there is room for
EACH = 10
RUN = 'n=$1; while [ $n -gt 0 ]; do n=$((n - 1)); "$2" 3; for i in $(seq $3); do /bin/true; done; done'
CHAIN = "main;one_run;one_hit"
DISTINCT = re.compile(r"main;work_run;run;((zero|one);)+hit")
SMALLEST_PIPE = 4096


def run_programs():
    """They end at once: their names are known by their records alone."""
    subprocess.run(["sh", "-ec", RUN, "sh", str(PROGRAMS), ONE, str(EACH)], check=True, timeout=4 * PATIENCE_S)


def to_file(path):
    return ["sh", "-c", 'file=$1; shift; exec "$@" >"$file"', "sh", str(path)]


FULL = rb"^stackcount: write to standard output: No space left on device; still counting, the report waits for room$"


def test_intervals_on_a_full_disk(workload, small_disk):
    """The report is whole once there is room."""
    disk = small_disk("128k")
    report, other = disk / "report", disk / "other"
    other.write_bytes(bytes(124 << 10))
    with workload("distinct", 2000, 1) as work, Live(["-f", "-U", "-i", "0.1", GETPPID], wrap=to_file(report)) as tool:
        work.run()
        tool.wait_for("stderr", FULL)
        run_programs()
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        tool.wait_looked()
        result = tool.end().ok()
    found = Counter()
    for parts, n in read_folded(report.read_text()):
        found[user_chain(parts)] += n
    assert "process records" not in result.err and len(re.findall(FULL, result.err.encode(), re.M)) == 1, result.err
    assert of_programs(found) == 3 * PROGRAMS, result.err
    assert sum(n for chain, n in found.items() if DISTINCT.fullmatch(chain)) == 2000


def test_a_full_disk_at_the_end_is_an_error(workload, small_disk):
    disk = small_disk("128k")
    (disk / "other").write_bytes(bytes(124 << 10))
    with workload("distinct", 2000, 1) as work, Live(["-f", "-U", GETPPID], wrap=to_file(disk / "report")) as tool:
        work.run()
        result = tool.end()
    assert result.status == 1 and "No space left on device" in result.err, result.err


def stall(tool):
    """Something is printed, and nobody reads it."""
    assert select.select([tool.process.stdout], [], [], PATIENCE_S)[0], "nothing was printed"


def of_programs(found):
    return sum(n for chain, n in found.items() if chain.endswith(CHAIN))


def test_intervals_that_nobody_reads(workload):
    """The report of 2,000 stacks does not fit into the pipe."""
    with workload("distinct", 2000, 1) as work, Tool(["-f", "-U", "-i", "0.1", GETPPID], reads_later=True) as tool:
        fcntl.fcntl(tool.process.stdout, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
        tool.wait_live()
        work.run()
        stall(tool)
        run_programs()
        tool.read_now()
        result = tool.end().ok()
    found = chains(result)
    assert "process records" not in result.err, result.err
    assert of_programs(found) == 3 * PROGRAMS, result.err
    assert sum(n for chain, n in found.items() if DISTINCT.fullmatch(chain)) == 2000
    assert not re.search(r"^Lost", result.out, re.M), result.err


@pytest.mark.needs("unwinding")
@pytest.mark.walk("dwarf")
def test_programs_that_begin_while_nobody_reads_are_walked_by_tables(workload, tmp_path):
    """Nobody has seen their file before. The first ones may be ahead of its tables, but not all are."""
    program = shutil.copy(workload_path("syscalls-nofp"), tmp_path / "new")
    with workload("distinct", 2000, 1) as work, Tool(["-f", "-U", "-i", "0.1", GETPPID], reads_later=True) as tool:
        fcntl.fcntl(tool.process.stdout, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
        tool.wait_live()
        work.run()
        stall(tool)
        for _ in range(20):
            with workload(str(program), "getppid", 100, 50) as one:
                tool.wait_looked()
                expected = one.run()
        tool.read_now()
        result = tool.end().ok()
    found = chains(result)
    assert result.lost == 0, result.err
    assert expected and all(found.get(chain, 0) >= n for chain, n in expected.items()), found
    assert sum(n for chain, n in found.items() if DISTINCT.fullmatch(chain)) == 2000


def test_events_that_nobody_reads(workload):
    """stacksnoop keeps them while there is room; here there is."""
    with workload("distinct", 2000, 1) as work, snoop("-f", "-U", GETPPID, reads_later=True) as tool:
        fcntl.fcntl(tool.process.stdout, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
        tool.wait_live()
        work.run()
        stall(tool)
        run_programs()
        tool.read_now()
        result = tool.end().ok()
    assert "process records" not in result.err, result.err
    assert of_programs(folded_chains(result.out)[0]) == 3 * PROGRAMS, result.err
